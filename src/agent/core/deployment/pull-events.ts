import type { EventContent } from "../../../protocol/deployments/deployment-event.ts";
import { formatPart, formatSize, formatRate, formatTimeLeft, formatTimes } from "../text.ts";
import { runningEvent } from "./step-events.ts";

/** Bytes received at a point in time. */
export interface Sample {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly bytes: number;
}

/**
 * Window of the rate, in milliseconds: short enough to follow changes of the link, long enough to bridge a reconnect.
 */
const MAX_WINDOW_MS = 15_000;
const MIN_WINDOW_MS = 900;

/** Adds a sample and drops old ones: keeps those within the window, and the last one before it. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const recent = samples.filter(({ at }) => at >= sample.at - MAX_WINDOW_MS);
  return [...samples.slice(-recent.length - 1, samples.length - recent.length), ...recent, sample];
}

/** Returns bytes per second between the first and the last sample; `undefined` if they are too close together. */
export function rateOf(samples: readonly Sample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < MIN_WINDOW_MS) return undefined;
  return Math.max(0, ((last.bytes - first.bytes) / (last.at - first.at)) * 1000);
}

/** Progress of a download. */
export interface PullProgressView {
  readonly done: number;
  readonly total: number;
  /** Bytes per second; `undefined` while unknown. */
  readonly rate: number | undefined;
  /** Number of interrupted transfers. */
  readonly cuts: number;
}

/**
 * Returns the progress of a download as an event.
 *
 * @param minPercent percentage already reported: progress never goes back
 * @param what is downloaded
 */
export function progressEvent(view: PullProgressView, minPercent: number, what = "image"): EventContent {
  const { done, total, rate, cuts } = view;
  const percent = Math.max(minPercent, Math.min(100, Math.floor((done / total) * 100)));
  const secondsLeft = rate === undefined || rate < 1 ? undefined : Math.ceil((total - done) / rate);
  const facts = [
    formatPart(done, total),
    ...(rate === undefined ? [] : [formatRate(rate)]),
    ...(secondsLeft === undefined ? [] : [`${formatTimeLeft(secondsLeft)} left`]),
    ...(cuts === 0 ? [] : [cutText(cuts)]),
  ];
  return {
    ...runningEvent("pulling", `Pulling ${what}: ${percent}% (${facts.join(", ")}).`),
    progress: percent,
    bytes: { done, total },
    details: {
      ...(rate !== undefined && { bytes_per_second: Math.round(rate) }),
      ...(secondsLeft !== undefined && { seconds_left: secondsLeft }),
      cuts,
    },
  };
}

/** Returns the event of a finished download. */
export function summaryEvent({ received, cuts }: { readonly received: number; readonly cuts: number }): EventContent {
  const link = cuts === 0 ? "" : `; ${cutText(cuts)}`;
  return {
    ...runningEvent("pulling", `The image is on the device: ${formatSize(received)} were received${link}.`),
    details: { received_bytes: received, cuts },
  };
}

/** Returns the event of a download that continues an earlier one. */
export function resumeEvent(done: number, total: number): EventContent {
  return runningEvent("pulling", `Going on where the download stopped, at ${formatPart(done, total)}.`);
}

/** Returns the event of an interrupted download. */
export function pullInterruptedEvent(reason: string, retryInMs: number): EventContent {
  const seconds = Math.ceil(retryInMs / 1000);
  return runningEvent(
    "pulling",
    `The download is interrupted (${reason}); it goes on from there, next try in ${seconds} s.`,
  );
}

/** Returns the event of a download that takes more than its announced cost. */
export function costGrewEvent(downloadBytes: number, announcedBytes: number): EventContent {
  const message =
    `${formatSize(downloadBytes)} have to be downloaded instead of ${formatSize(announcedBytes)}: ` +
    "what was to be taken from the device is not there any more.";
  return { ...runningEvent("pulling", message), details: { download_bytes: downloadBytes } };
}

/** Returns the event of a layer that was to be put together from parts. */
export function wholeLayerEvent(reason: string): EventContent {
  return runningEvent("pulling", `A layer is downloaded whole: it cannot be put together from parts (${reason}).`);
}

function cutText(cuts: number): string {
  return `the link was cut ${formatTimes(cuts)}`;
}
