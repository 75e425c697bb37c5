import { formatConfiguredDuration } from "../core/text.ts";
import type { Clock } from "../../lib/clock.ts";
import { afterFailedTry, type FetchBounds } from "../core/image/fetch-retry.ts";
import type { OpenBlob } from "../registry/registry.ts";
import { RegistryError } from "../registry/registry-error.ts";
import { DownloadError } from "./download-error.ts";
import type { Part } from "./part.ts";
import { receiveBody } from "./receive-body.ts";
import type { Throttle } from "./throttle.ts";

/** Something that went wrong on the way and is got over. */
export interface FetchInterruption {
  /** `cut`: a transfer that had begun was broken off. */
  readonly kind: "cut" | "refused" | "wrong_content";
  /** For a person. */
  readonly reason: string;
  /** When it is tried again, in milliseconds. */
  readonly retryInMs: number;
}

export interface FillOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly bounds: FetchBounds;
  /** Silence that is taken for a dead connection, in milliseconds. */
  readonly stallMs: number;
  readonly throttle: Throttle;
  /** Opens the blob at an offset. Rejects with a `RegistryError`. */
  readonly open: (offset: number, signal: AbortSignal) => Promise<OpenBlob>;
  readonly onReceived: (bytes: number) => void;
  /** The part has grown. */
  readonly onAppended: () => void;
  readonly onInterruption: (trouble: FetchInterruption) => void;
  /** The bytes were not what the digest says and are gone: who handed them on has to begin anew. */
  readonly onDropped: () => void;
  readonly signal: AbortSignal;
}

/** How often a blob is fetched whose bytes are wrong. */
const MAX_FETCHES = 3;

/**
 * Fetches what is missing of a blob, from where it stopped, over any number of connections, until it is whole and
 * right. Rejects with a `DownloadError`, with a `RegistryError` where trying again would change nothing, or with the
 * signal's reason.
 */
export async function fillPart(part: Part, options: FillOptions): Promise<void> {
  using _turn = await part.writeLock.acquire(options.signal);
  if (part.isVerified) return;
  // Whoever wrote to it before may have been stopped in the middle of a write.
  if (part.size > 0) await part.recover();
  for (let fetches = 1; ; fetches++) {
    const refusal = await fillToSize(part, options);
    if (refusal === undefined && part.verify()) return;
    await part.discard();
    options.onDropped();
    const reason = refusal ?? `the registry sent something else than ${shortDigest(part)}`;
    if (fetches === MAX_FETCHES) {
      throw new DownloadError("wrong_content", `${reason}, ${MAX_FETCHES} times in a row`);
    }
    options.onInterruption({ kind: "wrong_content", reason, retryInMs: 0 });
  }
}

/**
 * Resolves when as many bytes are there as the blob has, right or wrong; with a reason where what is there cannot be the
 * beginning of it.
 */
async function fillToSize(part: Part, options: FillOptions): Promise<string | undefined> {
  const { clock, bounds, signal } = options;
  let gainedAt = clock.monotonic();
  let failures = 0;
  while (part.size < part.blob.size) {
    const before = part.size;
    const trouble = await fetchMore(part, options);
    signal.throwIfAborted();
    const gained = part.size - before;
    if (gained > 0) gainedAt = clock.monotonic();
    if (!trouble) continue;
    if (trouble.kind === "wrong_content") return trouble.reason;
    const failed = { gained, silentMs: clock.monotonic() - gainedAt, retryAfterMs: trouble.retryAfterMs };
    const next = afterFailedTry(failed, failures, bounds, options.random());
    if (next.kind === "give_up") {
      throw new DownloadError(
        "no_progress",
        `no byte came for ${formatConfiguredDuration(bounds.patienceMs)}; ${trouble.reason}`,
      );
    }
    failures = next.failures;
    options.onInterruption({ kind: trouble.kind, reason: trouble.reason, retryInMs: next.afterMs });
    if (next.afterMs > 0) await clock.sleep(next.afterMs, signal);
  }
  return undefined;
}

interface FetchFailure {
  readonly kind: FetchInterruption["kind"];
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
}

/** One connection's worth; what stood in the way of the rest. */
async function fetchMore(part: Part, options: FillOptions): Promise<FetchFailure | undefined> {
  const { clock, stallMs, throttle, onReceived, onAppended, signal } = options;
  const opened = await openAt(part, options);
  if ("reason" in opened) return opened;
  const end = await receiveBody(opened.stream, {
    clock,
    // A registry that cannot begin in the middle sends again what is there; it is counted and left aside.
    skip: part.size - opened.offset,
    wanted: part.blob.size - part.size,
    stallMs,
    throttle,
    write: async (bytes) => {
      await part.append(bytes);
      onAppended();
    },
    onReceived,
    signal,
  });
  switch (end.kind) {
    case "enough":
      return undefined;
    case "short":
      return { kind: "cut", reason: "the registry ended the transfer before its end" };
    case "stalled":
      return { kind: "cut", reason: `nothing came for ${formatConfiguredDuration(stallMs)}` };
    case "cut":
      return { kind: "cut", reason: messageOf(end.error) };
  }
}

async function openAt(part: Part, { open, signal }: FillOptions): Promise<OpenBlob | FetchFailure> {
  try {
    return await open(part.size, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RegistryError)) throw error;
    const { kind, message: reason, retryAfterMs } = error;
    if (kind === "registry_unreachable" || kind === "rate_limited") return { kind: "refused", reason, retryAfterMs };
    // Such as a blob that ends before where it is to go on.
    if (kind === "wrong_content" && part.size > 0) return { kind: "wrong_content", reason };
    throw error;
  }
}

function messageOf(error: unknown): string {
  if (error instanceof Error && "code" in error && error.code === "ECONNRESET") return "the connection was cut";
  return error instanceof Error ? error.message : String(error);
}

function shortDigest(part: Part): string {
  return part.blob.digest.slice(0, "sha256:".length + 12);
}
