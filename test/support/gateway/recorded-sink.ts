import type { QuerySink, StreamSink } from "../../../src/control-plane/devices/session.ts";
import type { EdgeError } from "../../../src/protocol/errors/errors.ts";
import type { StreamEnd } from "../../../src/protocol/link/streams.ts";

/** Keeps what a query brings. */
export class RecordedQuery implements QuerySink {
  readonly answers: unknown[] = [];
  readonly ends: (EdgeError | undefined)[] = [];

  answer(body: unknown): void {
    this.answers.push(body);
  }

  end(error: EdgeError | undefined): void {
    this.ends.push(error);
  }

  /** The codes with which the query ended: one, or none yet. */
  get codes(): (string | undefined)[] {
    return this.ends.map((error) => error?.code);
  }
}

/** Keeps what a stream brings. */
export class RecordedStream implements StreamSink {
  readonly facts: unknown[] = [];
  readonly received: { readonly channel: number; readonly bytes: Uint8Array }[] = [];
  readonly credits: number[] = [];
  readonly ends: StreamEnd[] = [];

  opened(facts: unknown): void {
    this.facts.push(facts);
  }

  data(channel: number, bytes: Uint8Array): void {
    this.received.push({ channel, bytes: Uint8Array.from(bytes) });
  }

  credit(bytes: number): void {
    this.credits.push(bytes);
  }

  end(end: StreamEnd): void {
    this.ends.push(end);
  }

  /** Number of data bytes. */
  get bytes(): number {
    return this.received.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }
}
