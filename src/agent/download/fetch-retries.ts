import { errorText } from "../../lib/error-text.ts";
import { afterFailedTry } from "../core/image/fetch-retry.ts";
import { formatConfiguredDuration } from "../core/text.ts";
import type { RegistryError } from "../registry/registry-error.ts";
import { DownloadError } from "./download-error.ts";
import type { FetchOptions } from "./fill-part.ts";
import type { FetchInterruption } from "./ports.ts";
import type { BodyEnd } from "./receive-body.ts";

/** A request that did not bring everything. */
export interface FetchFailure {
  readonly kind: FetchInterruption["kind"];
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
}

/** Paces the requests of one blob, and gives up when nothing comes for too long. */
export class FetchRetries {
  readonly #options: Pick<FetchOptions, "clock" | "random" | "bounds" | "onInterruption" | "signal">;
  #gained = 0;
  #gainedAt: number;
  #failures = 0;

  constructor(options: Pick<FetchOptions, "clock" | "random" | "bounds" | "onInterruption" | "signal">) {
    this.#options = options;
    this.#gainedAt = options.clock.monotonic();
  }

  /** Must be called after each request, with the number of new bytes. */
  gained(bytes: number): void {
    this.#gained = bytes;
    if (bytes > 0) this.#gainedAt = this.#options.clock.monotonic();
  }

  /** Waits before the next request. Rejects with a `DownloadError` when it is time to give up, or the signal's reason. */
  async pause({ kind, reason, retryAfterMs }: FetchFailure): Promise<void> {
    const { clock, random, bounds, onInterruption, signal } = this.#options;
    const failed = { gained: this.#gained, silentMs: clock.monotonic() - this.#gainedAt, retryAfterMs };
    const next = afterFailedTry(failed, this.#failures, bounds, random());
    if (next.kind === "give_up") {
      const patience = formatConfiguredDuration(bounds.patienceMs);
      throw new DownloadError("no_progress", `no byte came for ${patience}; ${reason}`);
    }
    this.#failures = next.failures;
    onInterruption({ kind, reason, retryInMs: next.afterMs });
    if (next.afterMs > 0) await clock.sleep(next.afterMs, signal);
  }
}

/** Returns why a body did not bring everything; `undefined` if it did. */
export function toFailure(end: BodyEnd, stallMs: number): FetchFailure | undefined {
  switch (end.kind) {
    case "complete":
      return undefined;
    case "short":
      return { kind: "cut", reason: "the registry ended the transfer before its end" };
    case "stalled":
      return { kind: "cut", reason: `nothing came for ${formatConfiguredDuration(stallMs)}` };
    case "cut":
      return { kind: "cut", reason: messageOf(end.error) };
  }
}

/** Returns the failure of a registry that may serve the next request; `undefined` if it will not. */
export function toRefusal({ kind, message: reason, retryAfterMs }: RegistryError): FetchFailure | undefined {
  const isTransient = kind === "registry_unreachable" || kind === "rate_limited" || kind === "foreign_answer";
  return isTransient ? { kind: "refused", reason, retryAfterMs } : undefined;
}

function messageOf(error: unknown): string {
  if (error instanceof Error && "code" in error && error.code === "ECONNRESET") return "the connection was cut";
  return errorText(error);
}
