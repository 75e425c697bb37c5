import type { Clock } from "../../lib/clock.ts";
import { pageInBytes } from "../../lib/registry/foreign-answer.ts";
import type { FetchBounds } from "../core/image/fetch-retry.ts";
import type { OpenBlob } from "../registry/registry.ts";

import { RegistryError } from "../registry/registry-error.ts";
import { toProblemError } from "../registry/to-registry-error.ts";
import { DownloadError } from "./download-error.ts";
import { type FetchFailure, FetchRetries, toFailure, toRefusal } from "./fetch-retries.ts";
import type { Part } from "./part.ts";
import type { FetchInterruption } from "./ports.ts";
import { receiveBody } from "./receive-body.ts";
import type { Throttle } from "./throttle.ts";

/** When a connection is given up, and when the next one is tried. */
export interface FetchRules {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly bounds: FetchBounds;
  /** A connection that delivers nothing for this time is considered dead, in milliseconds. */
  readonly stallMs: number;
}

/** How bytes are fetched, whatever of a blob is wanted. */
export interface FetchOptions extends FetchRules {
  readonly throttle: Throttle;
  readonly onReceived: (bytes: number) => void;
  /** Called after bytes were appended to the part. */
  readonly onAppended: () => void;
  readonly onInterruption: (interruption: FetchInterruption) => void;
  readonly signal: AbortSignal;
}

export interface FillOptions extends FetchOptions {
  /** Opens the blob at an offset. Rejects with a `RegistryError`. */
  readonly open: (offset: number, signal: AbortSignal) => Promise<OpenBlob>;
  /** Called after bytes that do not match the digest were discarded: readers of the part must start again. */
  readonly onDropped: () => void;
}

/** Attempts for a blob whose content does not match its digest. */
const MAX_ATTEMPTS = 3;

/**
 * Downloads the missing bytes of a blob, resuming over any number of connections, until it is complete and verified.
 * Rejects with a `DownloadError`, with a `RegistryError` where a retry would change nothing, or with the signal's
 * reason.
 */
export async function fillPart(part: Part, options: FillOptions): Promise<void> {
  using _lock = await part.writeLock.acquire(options.signal);
  if (part.isVerified) return;
  // The previous writer may have been stopped in the middle of a write.
  if (part.size > 0) await part.recover();
  for (let attempt = 1; ; attempt++) {
    const mismatch = await fillToSize(part, options);
    if (mismatch === undefined && part.verify()) return;
    await part.discard();
    options.onDropped();
    const reason = mismatch ?? `the registry sent content that does not match ${shortDigest(part)}`;
    if (attempt === MAX_ATTEMPTS) {
      throw new DownloadError("wrong_content", `${reason}, ${MAX_ATTEMPTS} times in a row`);
    }
    options.onInterruption({ kind: "wrong_content", reason, retryInMs: 0 });
  }
}

/**
 * Resolves when the part has the blob's size, verified or not; with a reason when its bytes cannot be the beginning of
 * the blob.
 */
async function fillToSize(part: Part, options: FillOptions): Promise<string | undefined> {
  const retries = new FetchRetries(options);
  while (part.size < part.blob.size) {
    const before = part.size;
    const failure = await fetchMore(part, options);
    options.signal.throwIfAborted();
    retries.gained(part.size - before);
    if (failure?.kind === "wrong_content") return failure.reason;
    if (failure) await retries.pause(failure);
  }
  return undefined;
}

/** Fetches over one connection. Resolves to what interrupted it, or `undefined` when complete. */
async function fetchMore(part: Part, options: FillOptions): Promise<FetchFailure | undefined> {
  const { clock, stallMs, throttle, onReceived, onAppended, signal } = options;
  const opened = await openAt(part, options);
  if ("reason" in opened) return opened;
  const end = await receiveBody(opened.stream, {
    clock,
    // A registry without range support sends the present bytes again; they are counted and skipped.
    skip: part.size - opened.offset,
    wanted: part.blob.size - part.size,
    stallMs,
    throttle,
    write: async (bytes) => {
      const page = part.size === 0 ? pageInBytes(bytes, opened.host) : undefined;
      if (page) throw toProblemError(page);
      await part.append(bytes);
      onAppended();
    },
    onReceived,
    signal,
  }).catch((error: unknown) => {
    const refusal = error instanceof RegistryError && !signal.aborted ? toRefusal(error) : undefined;
    if (!refusal) throw error;
    return refusal;
  });
  return "reason" in end ? end : toFailure(end, stallMs);
}

async function openAt(part: Part, { open, onReceived, signal }: FillOptions): Promise<OpenBlob | FetchFailure> {
  try {
    return await open(part.size, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RegistryError)) throw error;
    if (error.receivedBytes > 0) onReceived(error.receivedBytes);
    const refused = toRefusal(error);
    if (refused) return refused;
    const { kind, message: reason } = error;
    // For example, the blob ends before the requested offset.
    if (kind === "wrong_content" && part.size > 0) return { kind: "wrong_content", reason };
    throw error;
  }
}

function shortDigest(part: Part): string {
  return part.blob.digest.slice(0, "sha256:".length + 12);
}
