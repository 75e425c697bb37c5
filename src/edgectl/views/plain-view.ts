import type { StreamedEvent } from "../api/deployment-event.ts";
import type { Printer } from "../printer.ts";
import { progressDetails } from "../../protocol/deployment-event.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { DeploymentView } from "./deployment-view.ts";
import { bytesParts, CONNECTION_LOST_TEXT, fractionOf, isProgress, linkCutParts, stepLabel } from "./event-text.ts";

const PROGRESS_STEP = 0.1;

/** Prints lines for a file or another program. Progress is one line for every tenth. */
export class PlainView implements DeploymentView {
  readonly #printer: Printer;
  #nextFraction = 0;

  constructor(printer: Printer) {
    this.#printer = printer;
  }

  onEvent(event: StreamedEvent): void {
    if (event.status !== "Running") return;
    if (isProgress(event)) {
      this.#progress(event);
      return;
    }
    this.#nextFraction = 0;
    this.#printer.line(`${stepLabel(event)}: ${sanitizeLine(event.message)}`);
  }

  onDisconnected(why: string): void {
    this.#printer.note(`Connection lost: ${why}. ${CONNECTION_LOST_TEXT}`);
  }

  onReconnected(): void {
    this.#printer.note("Connected again.");
  }

  success(event: StreamedEvent): void {
    this.#printer.line(sanitizeLine(event.message));
  }

  [Symbol.dispose](): void {}

  #progress(event: StreamedEvent): void {
    const fraction = fractionOf(event);
    if (fraction < this.#nextFraction) return;
    this.#nextFraction = Math.floor(fraction / PROGRESS_STEP + 1 + Number.EPSILON) * PROGRESS_STEP;
    const { bytes } = event;
    const facts = bytes ? bytesParts({ bytes }, progressDetails(event).bytes_per_second) : [];
    const text = [...facts, ...linkCutParts(event)].join(", ");
    this.#printer.line(`${stepLabel(event)}: ${Math.floor(fraction * 100)} %${text === "" ? "" : ` (${text})`}`);
  }
}
