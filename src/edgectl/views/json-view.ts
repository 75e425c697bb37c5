import type { StreamedEvent } from "../api/deployment-event.ts";
import type { Reporter } from "../reporter.ts";
import { type DeploymentView, LOST_TEXT } from "./deployment-view.ts";

/** One event a line, as the service sent it. */
export class JsonView implements DeploymentView {
  readonly #reporter: Reporter;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  event(event: StreamedEvent): void {
    this.#reporter.jsonLine(event);
  }

  lost(why: string): void {
    this.#reporter.note(`Connection lost: ${why}. ${LOST_TEXT}`);
  }

  resumed(): void {
    this.#reporter.note("Connected again.");
  }

  // The final event says it.
  success(): void {}

  [Symbol.dispose](): void {}
}
