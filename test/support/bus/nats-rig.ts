import { NatsLink } from "../../../src/control-plane/bus/nats/nats-link.ts";
import type { NatsOptions } from "../../../src/control-plane/bus/nats/options.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { captureLog } from "../link/log-capture.ts";
import { waitFor } from "../wait-for.ts";

/** A link with its log. */
export class NatsRig implements AsyncDisposable {
  readonly link: NatsLink;
  readonly lines: Record<string, unknown>[];

  constructor(nats: NatsOptions) {
    const { logger, lines } = captureLog();
    this.lines = lines;
    this.link = new NatsLink({ nats, clock: systemClock, logger });
  }

  /** Waits for a state. The log is shown if it does not come. */
  async reach(state: "up" | "down"): Promise<void> {
    await waitFor(`the link to be ${state}`, () => {
      if (this.link.state !== state) throw new Error(JSON.stringify(this.lines));
      return true;
    });
  }

  /** Waits for a log line that gives this reason for the link being down. */
  async failedFor(reason: RegExp): Promise<void> {
    await waitFor(`a failure for ${reason}`, () => {
      if (!this.lines.some((line) => reason.test(String(line["reason"])))) throw new Error(JSON.stringify(this.lines));
      return true;
    });
  }

  /** The messages of warnings and better news, in order. */
  get changes(): unknown[] {
    return this.lines.filter(({ msg }) => !String(msg).startsWith("still")).map(({ msg }) => String(msg).split(":")[0]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.link[Symbol.asyncDispose]();
  }
}
