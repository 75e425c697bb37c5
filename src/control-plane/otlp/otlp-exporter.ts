import { readFile } from "node:fs/promises";
import { deadline, unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { VERSION } from "../../lib/version.ts";
import type { SelectorTerm } from "../../protocol/fleets/selector.ts";
import { Poster, type PosterOptions } from "../alerts/channels/post.ts";
import type { OtlpExport } from "../config/otlp-config.ts";
import type { DeliveryAnswer } from "../core/alerts/delivery.ts";
import type { AssetCursor } from "../core/cursor.ts";
import { termsOfSelector } from "../core/selector-terms.ts";
import { type AcquireLease, LeasedLoop } from "../instances/leased-loop.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { Store } from "../store/store.ts";
import { exportRequest, type MeasuredAsset } from "./otlp-metrics.ts";

/** An instance that dies leaves an export to another one after this time: longer than one request takes. */
const LEASE_MS = 60_000;
/** For one request and its answer. */
export const OTLP_TIMEOUT_MS = 15_000;
/** Assets of one request: about 600 kB at most. */
export const MAX_OTLP_ASSETS = 200;
/** What the file of headers may have. */
const MAX_HEADERS_BYTES = 16 * 1024;
/** Longest `Retry-After` that is followed. */
const MAX_RETRY_AFTER_MS = 3_600_000;
const HEADER = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\t\x20-\x7e]*)$/;

export interface OtlpExporterOptions {
  readonly store: Pick<Store, "isShared" | "leases" | "alerts" | "assets" | "health">;
  readonly accountId: string;
  readonly settings: OtlpExport;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly instanceId: string;
  /** For tests. */
  readonly network?: Pick<PosterOptions, "lookup" | "isPublic" | "ca"> | undefined;
}

/**
 * Sends metrics of an account's devices by OTLP over HTTP, at one instance at a time. Nothing is queued: a request that failed is
 * over, and the next round sends what devices have measured that has not arrived.
 */
export class OtlpExporter implements AsyncDisposable {
  readonly #options: OtlpExporterOptions;
  readonly #url: URL;
  readonly #terms: readonly SelectorTerm[];
  readonly #poster: Poster;
  readonly #loop: LeasedLoop;
  /** The newest row of each device that has arrived. */
  #sent: ReadonlyMap<string, number> = new Map();
  #pauseMs: number;
  /** Unix milliseconds; `undefined`: the last request was taken; `null`: none was sent yet. */
  #failingSinceMs: number | undefined | null = null;

  constructor(options: OtlpExporterOptions) {
    const { settings, accountId, network } = options;
    this.#options = options;
    this.#url = new URL(settings.endpoint);
    this.#terms = termsOfSelector(settings.selector);
    this.#poster = new Poster({ allowPrivate: settings.allow_private ? [this.#url.host] : [], ...network });
    this.#pauseMs = settings.interval_s * 1000;
    this.#loop = new LeasedLoop({
      ...options,
      lease: `otlp-${accountId}`,
      leaseMs: LEASE_MS,
      pauseMs: () => this.#pauseMs,
      failureMessage: "cannot export metrics of devices; trying again",
      work: (signal, acquire) => this.#export(signal, acquire),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #export(signal: AbortSignal, acquire: AcquireLease): Promise<boolean> {
    const { store, accountId, settings, clock } = this.#options;
    this.#pauseMs = settings.interval_s * 1000;
    const headers = await this.#headers();
    if (headers === undefined) {
      await this.#noteState(true);
      return false;
    }
    const filter = { status: undefined, type: undefined, text: undefined, selector: this.#terms };
    const sent = new Map<string, number>();
    for (let after: AssetCursor | undefined, isLast = false; !isLast;) {
      // So that another instance does not begin meanwhile.
      if (signal.aborted || !(await acquire())) return false;
      const now = unixNow(clock);
      const time = { now, notSeenBefore: now, serviceNowMs: Math.floor(clock.serviceNow()) };
      const { assets: page, next } = await store.assets.listAssets(accountId, filter, MAX_OTLP_ASSETS, after, time);
      const health = await store.health.listNewest(page.map(({ asset }) => asset.uuid));
      const measured = page.map(({ asset, state }): MeasuredAsset => {
        const newest = health.get(asset.uuid);
        const isNew = newest !== undefined && newest.at > (this.#sent.get(asset.uuid) ?? 0);
        return { asset, state, health: isNew ? newest : undefined };
      });
      if (measured.length > 0 && !(await this.#send(measured, headers, now, signal))) break;
      for (const [uuid, { at }] of health) sent.set(uuid, at);
      isLast = next === undefined;
      after = next;
      // What was removed meanwhile is forgotten with a whole round.
      if (isLast) this.#sent = sent;
    }
    if (sent !== this.#sent) this.#sent = new Map([...this.#sent, ...sent]);
    return false;
  }

  /** Returns whether the request has arrived. */
  async #send(
    assets: readonly MeasuredAsset[],
    headers: Readonly<Record<string, string>>,
    now: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = exportRequest(assets, VERSION, now);
    using limit = deadline(this.#options.clock, OTLP_TIMEOUT_MS, signal);
    const secrets = Object.values(headers).flatMap((value) => value.split(" "));
    const message = { url: this.#url, headers: { ...headers, "Content-Type": "application/json" }, body, secrets };
    const answer = await this.#poster.post(message, limit.signal);
    if (signal.aborted) return false;
    await this.#note(answer);
    return answer.kind === "delivered";
  }

  /** Logs that requests begin to fail, and that they no longer do. */
  async #note(answer: DeliveryAnswer): Promise<void> {
    const { logger, accountId } = this.#options;
    const fields = { account_id: accountId, answer: answer.answer };
    const isRejected = /"rejectedDataPoints":\s*"?[1-9]/.test(answer.answer);
    const isFailing = answer.kind !== "delivered" || isRejected;
    const wasFailing = typeof this.#failingSinceMs === "number";
    if (isFailing && !wasFailing)
      logger.warn(fields, "metrics of devices are not taken; those of the next round are sent again");
    if (!isFailing && wasFailing) logger.info({ account_id: accountId }, "metrics of devices are taken again");
    if (answer.kind === "failed" && answer.retryAfterMs !== undefined)
      this.#pauseMs = Math.max(this.#pauseMs, Math.min(answer.retryAfterMs, MAX_RETRY_AFTER_MS));
    await this.#noteState(isFailing);
  }

  /** Has alerts tell the account that nothing is taken, and that it is again. */
  async #noteState(isFailing: boolean): Promise<void> {
    const { store, accountId, clock } = this.#options;
    const trouble = { accountId, condition: "export_failing", subject: { id: "otlp", name: "OTLP" } } as const;
    const nowMs = Math.floor(clock.now());
    const before = this.#failingSinceMs;
    this.#failingSinceMs = isFailing ? (before ?? nowMs) : undefined;
    // What another instance has noted, or this one before a restart, is over with the first success.
    if (this.#failingSinceMs === undefined) return before === undefined ? undefined : store.alerts.endTrouble(trouble);
    const untilMs = nowMs + 2 * this.#pauseMs + LEASE_MS;
    await store.alerts.noteTrouble({ ...trouble, sinceMs: this.#failingSinceMs, untilMs });
  }

  /** Read each time, so that a secret can be replaced. Returns nothing, and logs no content, if they cannot be. */
  async #headers(): Promise<Readonly<Record<string, string>> | undefined> {
    const { settings, logger, accountId } = this.#options;
    if (settings.headers_file === undefined) return {};
    const text = await readFile(settings.headers_file, "utf8").catch((error: unknown) => {
      logger.error({ err: error, account_id: accountId }, "the file with headers of an export cannot be read");
      return undefined;
    });
    if (text === undefined) return undefined;
    const headers = parseHeaders(text);
    if (headers === undefined)
      logger.error(
        { account_id: accountId, file: settings.headers_file },
        "the headers of an export of metrics cannot be read: one on each line, as Name: value",
      );
    return headers;
  }
}

/** Returns nothing if a line is no header. */
export function parseHeaders(text: string): Readonly<Record<string, string>> | undefined {
  if (text.length > MAX_HEADERS_BYTES) return undefined;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const found = lines.map((line) => HEADER.exec(line));
  if (!found.every((match) => match !== null)) return undefined;
  return Object.fromEntries(found.map(([, name = "", value = ""]) => [name, value.trim()]));
}
