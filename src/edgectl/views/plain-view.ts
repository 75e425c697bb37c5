import type { StreamedEvent } from "../api/deployment-event.ts";
import type { Reporter } from "../reporter.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type DeploymentView, fractionOf, isProgress, LOST_TEXT, stepLabel } from "./deployment-view.ts";

const PROGRESS_STEP = 0.1;

/** Lines for a file or another program: progress every tenth, nothing is rewritten. */
export class PlainView implements DeploymentView {
  readonly #reporter: Reporter;
  #nextFraction = 0;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  event(event: StreamedEvent): void {
    if (event.status !== "Running") return;
    if (isProgress(event)) {
      this.#progress(event);
      return;
    }
    this.#nextFraction = 0;
    this.#reporter.line(`${stepLabel(event)}: ${sanitizeLine(event.message)}`);
  }

  lost(why: string): void {
    this.#reporter.note(`Connection lost: ${why}. ${LOST_TEXT}`);
  }

  resumed(): void {
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
    const bytes = event.bytes ? ` (${formatBytes(event.bytes.done)} of ${formatBytes(event.bytes.total)})` : "";
    this.#reporter.line(`${stepLabel(event)}: ${Math.floor(fraction * 100)} %${bytes}`);
  }
}
