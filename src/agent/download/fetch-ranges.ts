import type { Span } from "../../lib/layer-parts/ranges.ts";
import type { OpenBlob } from "../registry/registry.ts";
import { RegistryError } from "../registry/registry-error.ts";
import { FetchRetries, type FetchFailure, toFailure, toRefusal } from "./fetch-retries.ts";
import type { FetchOptions } from "./fill-part.ts";
import { PartsUnusable } from "./download-error.ts";
import type { RangePart } from "./range-part.ts";
import { receiveBody } from "./receive-body.ts";

export interface FetchRangesOptions extends FetchOptions {
  /** Opens the blob at a range. Rejects with a `RegistryError`. */
  readonly open: (span: Span, signal: AbortSignal) => Promise<OpenBlob>;
  /** Called after each write, before more is received. Its error ends the fetch. */
  readonly check?: (() => Promise<void>) | undefined;
}

/**
 * Fetches what is missing of the spans, resuming over any number of connections. Nothing is verified but by `check`: the caller
 * knows digests of what is in the ranges. Rejects with `PartsUnusable` if the registry does not serve ranges, otherwise as
 * `fillPart` does.
 */
export async function fetchRanges(part: RangePart, spans: readonly Span[], options: FetchRangesOptions): Promise<void> {
  using _lock = await part.writeLock.acquire(options.signal);
  await part.repair();
  const retries = new FetchRetries(options);
  for (let [span] = part.missing(spans); span; [span] = part.missing(spans)) {
    let gained = 0;
    const failure = await fetchSpan(part, span, options, (bytes) => (gained += bytes));
    options.signal.throwIfAborted();
    retries.gained(gained);
    if (failure) await retries.pause(failure);
  }
}

async function fetchSpan(
  part: RangePart,
  span: Span,
  options: FetchRangesOptions,
  onGained: (bytes: number) => void,
): Promise<FetchFailure | undefined> {
  const { clock, stallMs, throttle, onReceived, onAppended, signal } = options;
  const opened = await openSpan(span, options);
  if ("reason" in opened) return opened;
  if (opened.offset !== span.offset || isWhole(opened, span, part)) {
    opened.stream.destroy();
    throw new PartsUnusable("the registry sends the whole layer when it is asked for a range");
  }
  let at = span.offset;
  const end = await receiveBody(opened.stream, {
    clock,
    skip: 0,
    wanted: span.length,
    stallMs,
    throttle,
    write: async (bytes) => {
      await part.append(at, bytes);
      at += bytes.length;
      onGained(bytes.length);
      onAppended();
      await options.check?.();
    },
    onReceived,
    signal,
  });
  return toFailure(end, stallMs);
}

/** Whether a registry that does not serve ranges sends more than was asked for. */
function isWhole({ status }: OpenBlob, { length }: Span, { blob }: RangePart): boolean {
  return status === 200 && length < blob.size;
}

async function openSpan(
  span: Span,
  { open, onReceived, signal }: FetchRangesOptions,
): Promise<OpenBlob | FetchFailure> {
  try {
    return await open(span, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RegistryError)) throw error;
    if (error.receivedBytes > 0) onReceived(error.receivedBytes);
    const refused = toRefusal(error);
    if (refused) return refused;
    // Another range than requested, or several in one body.
    if (error.kind === "wrong_content") throw new PartsUnusable(error.message, { cause: error });
    throw error;
  }
}
