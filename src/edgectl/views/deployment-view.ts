import type { StreamedEvent } from "../api/deployments.ts";
import type { FollowListener } from "../deploy/follow.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { isTerminal, type Theme } from "../../lib/terminal/theme.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { LiveLine, renderBar } from "./live-line.ts";
import { progressDetails } from "../../protocol/deployments/deployment-event.ts";
import type { Printer } from "../printer.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Output } from "../../lib/terminal/output.ts";
import { padEnd, truncate, wrap } from "../../lib/terminal/width.ts";
import type { Io } from "../io.ts";

/** Shows a running deployment. Failures are not shown here but printed as those of any command. */
export interface DeploymentView extends FollowListener, Disposable {
  /** Shows a successful end. */
  success(event: StreamedEvent): void;
}

const MAX_BAR_WIDTH = 30;
const MIN_BAR_WIDTH = 5;

const STEP_LABELS: Readonly<Record<string, string>> = { rolling_back: "rolling back" };

const CONNECTION_LOST_TEXT = "The deployment goes on without it; trying to take the stream up again.";

/** A step's name for people, with its app in a deployment of several. Unknown steps keep the service's name. */
function stepLabel(event: StreamedEvent): string {
  const step = STEP_LABELS[event.step ?? ""] ?? event.step ?? "running";
  return event.app === undefined ? step : `${event.app} ${step}`;
}

/** Whether an event only moves the progress bar. */
function isProgress(event: StreamedEvent): boolean {
  return event.status === "Running" && (event.bytes !== undefined || event.progress !== undefined);
}

/** The completed share, from 0 to 1. */
function fractionOf(event: StreamedEvent): number {
  if (event.progress !== undefined) return event.progress / 100;
  const { done, total } = event.bytes ?? { done: 0, total: 0 };
  return total > 0 ? Math.min(1, done / total) : 0;
}

/**
 * Renders bar, percentage, bytes, rate and time left in at most `width` columns. The last parts are omitted on a narrow
 * terminal. @param rate bytes per second
 */
export function renderProgress(event: StreamedEvent, rate: number | undefined, width: number, theme: Theme): string {
  const fraction = fractionOf(event);
  const percent = `${Math.floor(fraction * 100)} %`.padStart(5);
  const parts = [percent, ...bytesParts(event, rate), ...linkCutParts(event)];
  while (parts.length > 1 && lengthOf(parts) + MIN_BAR_WIDTH > width) parts.pop();
  const bar = Math.max(0, Math.min(MAX_BAR_WIDTH, width - lengthOf(parts)));
  return [renderBar(fraction, bar, theme), ...parts].join("  ");
}

/** Bytes done of the total; with a known rate also the rate and the time left. @param rate bytes per second */
function bytesParts({ bytes }: Pick<StreamedEvent, "bytes">, rate: number | undefined): string[] {
  if (!bytes) return [];
  const parts = [`${formatBytes(bytes.done)} of ${formatBytes(bytes.total)}`];
  if (rate === undefined || rate <= 0) return parts;
  parts.push(`${formatBytes(rate < 1000 ? Math.round(rate) : rate)}/s`);
  if (bytes.total > bytes.done) parts.push(`${formatDuration((bytes.total - bytes.done) / rate)} left`);
  return parts;
}

/** How often the link broke while the device downloaded, where it says so. */
function linkCutParts(event: StreamedEvent): string[] {
  const { cuts = 0 } = progressDetails(event);
  if (cuts === 0) return [];
  return [`link cut ${cuts === 1 ? "once" : `${cuts} times`}`];
}

function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length + 2, 0);
}

const WINDOW_MS = 5_000;

interface Sample {
  readonly atMs: number;
  readonly bytes: number;
}

/** Measures bytes per second over the last seconds, from samples of a running total. */
export class RateMeter {
  #samples: Sample[] = [];

  /** @param atMs monotonic milliseconds */
  add(atMs: number, bytes: number): void {
    const last = this.#samples.at(-1);
    // A lower total belongs to a new attempt.
    if (last && bytes < last.bytes) this.#samples = [];
    this.#samples.push({ atMs, bytes });
    // One sample before the window is kept, so that a slow stream still has a rate.
    while (this.#samples.length > 2 && (this.#samples[1]?.atMs ?? 0) <= atMs - WINDOW_MS) this.#samples.shift();
  }

  /** `undefined` until there are two samples. */
  get bytesPerSecond(): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (!first || !last || last.atMs <= first.atMs) return undefined;
    return ((last.bytes - first.bytes) * 1000) / (last.atMs - first.atMs);
  }
}

const PROGRESS_STEP = 0.1;

/** Prints lines for a file or another program. Progress is one line for every tenth. */
class PlainView implements DeploymentView {
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

const TICK_MS = 250;
const DEFAULT_WIDTH = 80;
/** Columns for the longest step name, and for the mark before it. */
const LABEL_WIDTH = 12;
/** The same in a deployment of several apps, with the name of the app. */
const GROUP_LABEL_WIDTH = 26;
const MARK_WIDTH = 2;

interface TerminalViewOptions {
  readonly output: Output;
  readonly theme: Theme;
  readonly clock: Clock;
}

/** The current activity. */
interface Activity {
  readonly label: string;
  /** Monotonic milliseconds. */
  readonly since: number;
  progress: StreamedEvent | undefined;
  readonly meter: RateMeter;
}

/** Prints a line for each finished step, and below them a live line with a spinner or a progress bar. */
export class TerminalView implements DeploymentView {
  readonly #options: TerminalViewOptions;
  readonly #line: LiveLine;
  readonly #since: number;
  #activity: Activity;
  #tick: Disposable | undefined;
  #frame = 0;
  #lastLabel: string | undefined;
  #labelWidth = LABEL_WIDTH;

  constructor(options: TerminalViewOptions) {
    this.#options = options;
    this.#line = new LiveLine(options.output);
    this.#since = options.clock.monotonic();
    this.#activity = this.#begin("connecting");
    this.#redraw();
  }

  onEvent(event: StreamedEvent): void {
    const label = stepLabel(event);
    if (event.app !== undefined) this.#labelWidth = GROUP_LABEL_WIDTH;
    if (event.status !== "Running") {
      this.#printFinishedProgress();
      this.#stop();
      return;
    }
    if (label !== this.#activity.label) {
      this.#printFinishedProgress();
      this.#activity = this.#begin(label);
    }
    if (isProgress(event)) {
      this.#activity.progress = event;
      if (event.bytes) this.#activity.meter.add(this.#options.clock.monotonic(), event.bytes.done);
    } else {
      this.#print(this.#bullet, label, event.message);
    }
    this.#redraw();
  }

  onDisconnected(why: string): void {
    const { theme } = this.#options;
    this.#printFinishedProgress();
    this.#print(theme.yellow("!"), "lost", `Connection lost: ${why}. ${CONNECTION_LOST_TEXT}`);
    this.#activity = this.#begin("reconnecting");
    this.#redraw();
  }

  onReconnected(): void {
    this.#print(this.#bullet, "connected", "The stream goes on where it was.");
    this.#activity = this.#begin("waiting");
    this.#redraw();
  }

  success(event: StreamedEvent): void {
    const { theme, clock } = this.#options;
    const took = formatDuration((clock.monotonic() - this.#since) / 1000);
    this.#print(theme.green(theme.tick), "done", `${event.message} (${took})`, theme.bold);
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  /** Prints a permanent line with the total of the progress bar. */
  #printFinishedProgress(): void {
    const { progress, since, label } = this.#activity;
    this.#activity.progress = undefined;
    if (!progress?.bytes || progress.bytes.done === 0) return;
    const seconds = (this.#options.clock.monotonic() - since) / 1000;
    const took = seconds < 1 ? "" : ` in ${formatDuration(seconds)}`;
    this.#print(this.#bullet, label, `${formatBytes(progress.bytes.done)} pulled${took}`);
  }

  #print(mark: string, label: string, message: string, paint: (text: string) => string = (text) => text): void {
    const { output, theme } = this.#options;
    const indent = " ".repeat(MARK_WIDTH + this.#labelWidth);
    const [first = "", ...rest] = wrap(sanitizeLine(message), this.#width - indent.length);
    this.#line.clear();
    // Consecutive lines of one step show its name once.
    const shown = label === this.#lastLabel ? "" : sanitizeLine(label);
    this.#lastLabel = label;
    const head = `${padEnd(mark, MARK_WIDTH)}${theme.dim(padEnd(shown, this.#labelWidth))}`;
    output.write([head + paint(first), ...rest.map((line) => indent + paint(line)), ""].join("\n"));
  }

  #redraw(): void {
    const { theme, clock } = this.#options;
    this.#tick?.[Symbol.dispose]();
    const spinner = theme.spinner[this.#frame++ % theme.spinner.length] ?? "";
    const label = truncate(sanitizeLine(this.#activity.label), this.#labelWidth - 1);
    const head = `${theme.cyan(spinner)} ${theme.dim(padEnd(label, this.#labelWidth))}`;
    this.#line.show(head + this.#activityText(this.#width - MARK_WIDTH - this.#labelWidth - 1));
    this.#tick = clock.timer(TICK_MS, () => this.#redraw());
  }

  #activityText(width: number): string {
    const { progress, since, meter } = this.#activity;
    if (progress) return renderProgress(progress, meter.bytesPerSecond, width, this.#options.theme);
    const seconds = (this.#options.clock.monotonic() - since) / 1000;
    return seconds < 1 ? "" : this.#options.theme.dim(formatDuration(seconds));
  }

  #begin(label: string): Activity {
    return { label, since: this.#options.clock.monotonic(), progress: undefined, meter: new RateMeter() };
  }

  #stop(): void {
    this.#tick?.[Symbol.dispose]();
    this.#tick = undefined;
    this.#line.clear();
  }

  get #bullet(): string {
    return this.#options.theme.dim(this.#options.theme.bullet);
  }

  get #width(): number {
    return this.#options.output.columns ?? DEFAULT_WIDTH;
  }
}

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
