import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { isTerminal, type Theme } from "../../lib/terminal/theme.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import { truncate } from "../../lib/terminal/width.ts";
import type { RolloutEvent } from "../api/rollout-streams.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";
import type { RolloutListener } from "../rollouts/follow.ts";
import { LiveLine } from "./live-line.ts";
import { countsText, waitingText } from "./rollout-words.ts";

const DEFAULT_WIDTH = 80;
const CONNECTION_LOST = "Trying again; the rollout goes on.";

export type RolloutView = RolloutListener & Disposable;

/** Returns the view for `--json`, a terminal or a file. */
export function createRolloutView(io: Io, printer: Printer): RolloutView {
  return !printer.json && isTerminal(io.stdout, io.env) ? new TerminalRollout(io, printer) : new PlainRollout(printer);
}

/** Prints each event as one line: of JSON with `--json`. */
class PlainRollout implements RolloutView {
  readonly #printer: Printer;

  constructor(printer: Printer) {
    this.#printer = printer;
  }

  onEvent(event: RolloutEvent): void {
    if (this.#printer.json) this.#printer.jsonLine(event);
    else this.#printer.line(`${formatTime(event.timestamp)}  ${eventText(event)}`);
  }

  onDisconnected(why: string): void {
    this.#printer.note(`Connection lost: ${why} ${CONNECTION_LOST}`);
  }

  onReconnected(): void {
    this.#printer.note("Connected again.");
  }

  [Symbol.dispose](): void {}
}

/** Prints a line for each change of the rollout itself, and below them one line with the counts, rewritten in place. */
class TerminalRollout implements RolloutView {
  readonly #io: Io;
  readonly #printer: Printer;
  readonly #line: LiveLine;
  #lastMessage: string | undefined;
  #wasWaiting = false;

  constructor(io: Io, printer: Printer) {
    this.#io = io;
    this.#printer = printer;
    this.#line = new LiveLine(io.stdout);
  }

  onEvent(event: RolloutEvent): void {
    this.#line.clear();
    const isFinal = event.status !== "Running";
    if (event.message !== this.#lastMessage || isFinal) {
      this.#printer.line(`${mark(event, this.#printer.theme)} ${sanitizeLine(event.message)}`);
    }
    if (event.waits_for_people && !this.#wasWaiting) {
      this.#printer.line(`${this.#printer.theme.yellow("!")} Waiting: ${sanitizeLine(waitingText(event.waiting_for))}`);
    }
    this.#lastMessage = event.message;
    this.#wasWaiting = event.waits_for_people;
    if (isFinal) this.#printer.line(`  ${sanitizeLine(countsText(event.counts))}`);
    else this.#line.show(truncate(progressText(event), (this.#io.stdout.columns ?? DEFAULT_WIDTH) - 1));
  }

  onDisconnected(why: string): void {
    this.#line.clear();
    this.#printer.line(`${this.#printer.theme.yellow("!")} Connection lost: ${sanitizeLine(why)} ${CONNECTION_LOST}`);
  }

  onReconnected(): void {
    this.#line.clear();
    this.#printer.line(`${this.#printer.theme.green("✓")} Connected again.`);
  }

  [Symbol.dispose](): void {
    this.#line[Symbol.dispose]();
  }
}

/** One event as a line for a file. */
function eventText(event: RolloutEvent): string {
  return `${sanitizeLine(event.message)}  (${progressText(event)})`;
}

function progressText({ state, wave, counts, waiting_for: waiting }: RolloutEvent): string {
  const waits = waitingText(waiting);
  const told = waits === "" ? "" : `; waiting: ${waits}`;
  return sanitizeLine(`${state.replaceAll("_", " ")}, wave ${wave}: ${countsText(counts)}${told}`);
}

function mark({ status, state }: RolloutEvent, theme: Theme): string {
  if (status === "Success") return theme.green("✓");
  if (status === "Fail") return theme.red("✗");
  return state === "paused" || state === "rolling_back" ? theme.yellow("!") : "•";
}
