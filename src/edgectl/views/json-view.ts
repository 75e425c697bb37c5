import type { StreamedEvent } from "../api/deployment-event.ts";
import type { Printer } from "../printer.ts";
import { type DeploymentView, CONNECTION_LOST_TEXT } from "./deployment-view.ts";

/** One event a line, as the service sent it. */
export class JsonView implements DeploymentView {
  readonly #reporter: Printer;

  constructor(reporter: Printer) {
    this.#reporter = reporter;
  }

  onEvent(event: StreamedEvent): void {
    this.#reporter.jsonLine(event);
  }

  onDisconnected(why: string): void {
    this.#reporter.note(`Connection lost: ${why}. ${CONNECTION_LOST_TEXT}`);
  }

  onReconnected(): void {
    this.#reporter.note("Connected again.");
  }

  // The final event says it.
  success(): void {}

  [Symbol.dispose](): void {}
}
