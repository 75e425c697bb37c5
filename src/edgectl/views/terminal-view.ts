import type { Clock } from "../../lib/clock.ts";
import type { StreamedEvent } from "../api/deployment-event.ts";
import type { Output } from "../../lib/terminal/output.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { padEnd, truncate, wrap } from "../../lib/terminal/width.ts";
import type { DeploymentView } from "./deployment-view.ts";
import { CONNECTION_LOST_TEXT, isProgress, renderProgress, stepLabel } from "./event-text.ts";
import { LiveLine } from "./live-line.ts";
import { RateMeter } from "./rate-meter.ts";

const TICK_MS = 250;
const DEFAULT_WIDTH = 80;
/** Columns for the longest step name, and for the mark before it. */
const LABEL_WIDTH = 12;
/** The same in a deployment of several apps, with the name of the app. */
const GROUP_LABEL_WIDTH = 26;
const MARK_WIDTH = 2;

export interface TerminalViewOptions {
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
