import { isTerminal } from "../../lib/terminal/theme.ts";
import type { StreamedEvent } from "../api/deployment-event.ts";
import type { DeploymentView } from "./deployment-view.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";
import { CONNECTION_LOST_TEXT } from "./event-text.ts";
import { PlainView } from "./plain-view.ts";
import { TerminalView } from "./terminal-view.ts";

/** Returns the view for `--json`, a terminal or a file. */
export function createDeploymentView(io: Io, printer: Printer): DeploymentView {
  if (printer.json) return new JsonView(printer);
  if (!isTerminal(io.stdout, io.env)) return new PlainView(printer);
  return new TerminalView({ output: io.stdout, theme: printer.theme, clock: io.clock });
}

/** Prints each event as one line of JSON, as the service sent it. */
class JsonView implements DeploymentView {
  readonly #printer: Printer;

  constructor(printer: Printer) {
    this.#printer = printer;
  }

  onEvent(event: StreamedEvent): void {
    this.#printer.jsonLine(event);
  }

  onDisconnected(why: string): void {
    this.#printer.note(`Connection lost: ${why}. ${CONNECTION_LOST_TEXT}`);
  }

  onReconnected(): void {
    this.#printer.note("Connected again.");
  }

  // The final event is already printed.
  success(): void {}

  [Symbol.dispose](): void {}
}

/** Shows nothing. */
export class SilentView implements DeploymentView {
  onEvent(): void {}
  onDisconnected(): void {}
  onReconnected(): void {}
  success(): void {}
  [Symbol.dispose](): void {}
}
