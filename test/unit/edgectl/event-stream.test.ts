import { describe, expect, test } from "vitest";
import { ApiClient } from "../../../src/edgectl/api/client.ts";
import { eventsRequest, type EventStream, openEventStream } from "../../../src/edgectl/api/deployments.ts";
import { MAX_SILENCE_MS } from "../../../src/edgectl/api/event-stream.ts";
import { NetworkFailure } from "../../../src/edgectl/api/network-failure.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** A server whose output the test controls, and which records whether the client aborted. */
class Connection {
  readonly clock = new FakeClock();
  isAborted = false;
  readonly #signal = new AbortController().signal;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;

  open(): Promise<EventStream> {
    const { clock } = this;
    const fetch: typeof globalThis.fetch = (_url, init) => Promise.resolve(this.#respond(init?.signal));
    const client = new ApiClient({ baseUrl: "http://x", apiKey: "ek_x", fetch, clock, signal: this.#signal });
    return openEventStream(client, eventsRequest("GW-1", "dep_1", 0), clock, this.#signal);
  }

  send(text: string): void {
    this.#body?.enqueue(new TextEncoder().encode(text));
  }

  #respond(signal: AbortSignal | null | undefined): Response {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#body = controller) });
    signal?.addEventListener("abort", () => {
      this.isAborted = true;
      this.#body?.error(signal.reason);
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

describe("a stream of events", () => {
  test("fails after the maximum silence; empty lines keep it alive", async () => {
    const connection = new Connection();
    const { clock } = connection;
    using stream = await connection.open();
    const events = stream.events[Symbol.asyncIterator]();
    const next = events.next();
    for (let passed = 0; passed < 4 * MAX_SILENCE_MS; passed += MAX_SILENCE_MS / 2) {
      await clock.advance(MAX_SILENCE_MS / 2);
      connection.send("\n");
      await clock.advance(0);
    }
    expect(connection.isAborted).toBe(false);
    const failure = next.catch((error: unknown) => error);
    await clock.advance(MAX_SILENCE_MS);
    expect(await failure).toBeInstanceOf(NetworkFailure);
    expect(await failure).toMatchObject({ reason: "it did not answer in time", exitCode: 5 });
  });

  test("releases connection and timer on disposal", async () => {
    const connection = new Connection();
    const { clock } = connection;
    const stream = await connection.open();
    expect(clock.pending).toBe(1);
    stream[Symbol.dispose]();
    expect(clock.pending).toBe(0);
    expect(connection.isAborted).toBe(true);
  });
});
