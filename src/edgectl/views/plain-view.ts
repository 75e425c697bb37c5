import type { StreamedEvent } from "../api/deployment-event.ts";
import type { Printer } from "../printer.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { progressDetails } from "../../protocol/deployment-event.ts";
import { type DeploymentView, fractionOf, isProgress, CONNECTION_LOST_TEXT, stepLabel } from "./deployment-view.ts";
import { bytesParts, linkCutParts } from "./progress-text.ts";

const PROGRESS_STEP = 0.1;

/** Lines for a file or another program: progress every tenth, nothing is rewritten. */
export class PlainView implements DeploymentView {
  readonly #reporter: Printer;
  #nextFraction = 0;

  constructor(reporter: Printer) {
    this.#reporter = reporter;
  }

  onEvent(event: StreamedEvent): void {
    if (event.status !== "Running") return;
    if (isProgress(event)) {
      this.#progress(event);
      return;
    }
    this.#nextFraction = 0;
    this.#reporter.line(`${stepLabel(event)}: ${sanitizeLine(event.message)}`);
  }

  onDisconnected(why: string): void {
    this.#reporter.note(`Connection lost: ${why}. ${CONNECTION_LOST_TEXT}`);
  }

  onReconnected(): void {
    this.#reporter.note("Connected again.");
  }

  success(event: StreamedEvent): void {
    this.#reporter.line(sanitizeLine(event.message));
  }

  [Symbol.dispose](): void {}

  #progress(event: StreamedEvent): void {
    const fraction = fractionOf(event);
    if (fraction < this.#nextFraction) return;
    this.#nextFraction = Math.floor(fraction / PROGRESS_STEP + 1 + Number.EPSILON) * PROGRESS_STEP;
    const { bytes } = event;
    const facts = bytes ? bytesParts({ bytes }, progressDetails(event).bytes_per_second) : [];
    const text = [...facts, ...linkCutParts(event)].join(", ");
    this.#reporter.line(`${stepLabel(event)}: ${Math.floor(fraction * 100)} %${text === "" ? "" : ` (${text})`}`);
  }
}
