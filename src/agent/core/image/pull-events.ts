import type { EventContent } from "../../../protocol/deployment-event.ts";
import { formatMegabytes, formatRate, formatTimeLeft, formatTimes } from "../text.ts";
import { runningEvent } from "../deployment/step-events.ts";

/** How many bytes were there at some time. */
export interface Sample {
  /** Milliseconds of a clock that only goes forward. */
  readonly at: number;
  readonly bytes: number;
}

/** Over how long a rate is taken, in milliseconds: short enough to follow a link, long enough to bridge a reconnect. */
const MAX_WINDOW_MS = 15_000;
const MIN_WINDOW_MS = 900;

/** The samples a rate is taken from, with one more: those within the window, and the last one before it. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const recent = samples.filter(({ at }) => at >= sample.at - MAX_WINDOW_MS);
  return [...samples.slice(-recent.length - 1, samples.length - recent.length), ...recent, sample];
}

/** Bytes per second between the first and the last sample; `undefined` where they are too close to tell. */
export function rateOf(samples: readonly Sample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < MIN_WINDOW_MS) return undefined;
  return Math.max(0, ((last.bytes - first.bytes) / (last.at - first.at)) * 1000);
}

/** What is told of a download that goes on. */
export interface TransferView {
  readonly done: number;
  readonly total: number;
  /** Bytes per second; `undefined` where that cannot be told yet. */
  readonly rate: number | undefined;
  /** How often a transfer was broken off. */
  readonly cuts: number;
}

/** The progress of a download as an event. @param leastPercent a bar that goes back would be worse than one that waits */
export function progressEvent(view: TransferView, leastPercent: number): EventContent {
  const { done, total, rate, cuts } = view;
  const percent = Math.max(leastPercent, Math.min(100, Math.floor((done / total) * 100)));
  const secondsLeft = rate === undefined || rate < 1 ? undefined : Math.ceil((total - done) / rate);
  const facts = [
    `${formatMegabytes(done)} of ${formatMegabytes(total)} MB`,
    ...(rate === undefined ? [] : [formatRate(rate)]),
    ...(secondsLeft === undefined ? [] : [`${formatTimeLeft(secondsLeft)} left`]),
    ...(cuts === 0 ? [] : [cutText(cuts)]),
  ];
  return {
    ...runningEvent("pulling", `Pulling image: ${percent}% (${facts.join(", ")}).`),
    progress: percent,
    bytes: { done, total },
    details: {
      ...(rate !== undefined && { bytes_per_second: Math.round(rate) }),
      ...(secondsLeft !== undefined && { seconds_left: secondsLeft }),
      cuts,
    },
  };
}

/** What a download took, once it is over. */
export function summaryEvent({ received, cuts }: { readonly received: number; readonly cuts: number }): EventContent {
  const link = cuts === 0 ? "" : `; ${cutText(cuts)}`;
  return {
    ...runningEvent("pulling", `The image is on the device: ${formatMegabytes(received)} MB were received${link}.`),
    details: { received_bytes: received, cuts },
  };
}

/** That an earlier try left something, which is not fetched again. */
export function resumeEvent(done: number, total: number): EventContent {
  return runningEvent(
    "pulling",
    `Going on where the download stopped, at ${formatMegabytes(done)} of ${formatMegabytes(total)} MB.`,
  );
}

/** That nothing comes at the moment. */
export function pullInterruptedEvent(reason: string, retryInMs: number): EventContent {
  const seconds = Math.ceil(retryInMs / 1000);
  return runningEvent(
    "pulling",
    `The download is interrupted (${reason}); it goes on from there, next try in ${seconds} s.`,
  );
}

function cutText(cuts: number): string {
  return `the link was cut ${formatTimes(cuts)}`;
}
