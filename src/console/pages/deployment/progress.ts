import type { DeploymentEvent } from "../../../protocol/api-types.ts";

/** A line of the history of a deployment. Events that only move the download on replace each other. */
export interface ProgressLine {
  readonly seq: number;
  readonly status: DeploymentEvent["status"];
  readonly step: string;
  readonly app: string | undefined;
  readonly message: string;
  /** Unix seconds. */
  readonly at: number;
  readonly isDownload: boolean;
}

/** What is known of a deployment from its events. */
export interface Progress {
  /** Number of the last event; 0 before the first. */
  readonly lastSeq: number;
  readonly deploymentId: string | undefined;
  readonly step: string;
  readonly lines: readonly ProgressLine[];
  /** Lines that are no longer kept. */
  readonly droppedLines: number;
  readonly download: Download | undefined;
  /** The last event, once there is one. */
  readonly final: DeploymentEvent | undefined;
  /** Unix seconds until which it waits for the device, or for hours and data that allow its download, while it does. */
  readonly waitingUntil: number | undefined;
}

export interface Download {
  readonly done: number;
  readonly total: number;
  readonly bytesPerSecond: number | undefined;
  /** How often the link was cut. */
  readonly cuts: number;
}

export const NO_PROGRESS: Progress = {
  lastSeq: 0,
  deploymentId: undefined,
  step: "received",
  lines: [],
  droppedLines: 0,
  download: undefined,
  final: undefined,
  waitingUntil: undefined,
};

const MAX_LINES = 500;

/** Adds an event. One that is known already changes nothing: a stream that is taken up again may repeat it. */
export function addEvent(progress: Progress, event: DeploymentEvent): Progress {
  if (event.seq <= progress.lastSeq || progress.final) return progress;
  const isDownload = event.status === "Running" && event.bytes !== undefined;
  const line = {
    seq: event.seq,
    status: event.status,
    step: event.step,
    app: event.app,
    message: event.message,
    at: event.timestamp,
    isDownload,
  };
  const last = progress.lines.at(-1);
  const isReplaced = isDownload && last?.isDownload === true && last.app === event.app;
  const lines = [...(isReplaced ? progress.lines.slice(0, -1) : progress.lines), line];
  const dropped = Math.max(0, lines.length - MAX_LINES);
  return {
    lastSeq: event.seq,
    deploymentId: event.deployment_id === "" ? progress.deploymentId : event.deployment_id,
    step: event.step,
    lines: dropped > 0 ? lines.slice(dropped) : lines,
    droppedLines: progress.droppedLines + dropped,
    download:
      event.status === "Running" && event.step === "pulling" ? (downloadOf(event) ?? progress.download) : undefined,
    final: event.status === "Running" ? undefined : event,
    waitingUntil: waitOf(event),
  };
}

/** The completed share of the download, from 0 to 1; `undefined` where the total is not known. */
export function fractionOf({ done, total }: Download): number | undefined {
  return total > 0 ? Math.min(1, done / total) : undefined;
}

/** Seconds that the download is still going to take at its rate; `undefined` where that is not known. */
export function secondsLeft({ done, total, bytesPerSecond }: Download): number | undefined {
  if (bytesPerSecond === undefined || bytesPerSecond <= 0 || total <= done) return undefined;
  return (total - done) / bytesPerSecond;
}

function downloadOf({ bytes, details }: DeploymentEvent): Download | undefined {
  if (!bytes) return undefined;
  return { ...bytes, bytesPerSecond: numberOf(details?.["bytes_per_second"]), cuts: numberOf(details?.["cuts"]) ?? 0 };
}

function waitOf({ details }: DeploymentEvent): number | undefined {
  return numberOf(details?.[details["waiting_for"] === "device" ? "until" : "waiting_until"]);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
