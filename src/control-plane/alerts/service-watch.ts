import { statfs } from "node:fs/promises";
import { isIP } from "node:net";
import { deadline } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type DiskSpace, isCertificateExpiring, isDiskLow } from "../core/alerts/service-troubles.ts";
import { type AcquireLease, LeasedLoop } from "../instances/leased-loop.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { ServiceTrouble } from "../store/alerts.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";
import { readCertificateEnd } from "./certificate-end.ts";

const LEASE = "service-watch";
const LEASE_MS = 180_000;
const LOOK_INTERVAL_MS = 60_000;
/** A trouble is over if it was not seen for so long. */
const TROUBLE_MS = 5 * LOOK_INTERVAL_MS;
const CERTIFICATE_INTERVAL_MS = 3_600_000;
const CERTIFICATE_TIMEOUT_MS = 10_000;
/** Messages are sent within seconds, unless a pause between two attempts is on. */
const STUCK_MS = 15 * 60_000;
const FAILURE = "cannot look at the service itself; trying again";

export interface ServiceWatchOptions {
  readonly store: Pick<Store, "isShared" | "leases" | "alerts" | "alertOutbox">;
  /** Whom the service's trouble is told. */
  readonly accountId: string;
  readonly publicUrl: string | undefined;
  /** Directory of the database, if that is a file of this machine. */
  readonly dataDir: string | undefined;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly instanceId: string;
  /** For tests. */
  readonly readDisk?: (directory: string) => Promise<DiskSpace>;
  readonly readCertificateEnd?: typeof readCertificateEnd;
}

/** Looks at what the service itself stands on, and notes what alerts tell the account of its operators. */
export class ServiceWatch implements AsyncDisposable {
  readonly #options: ServiceWatchOptions;
  readonly #loop: LeasedLoop;
  #certificateDueMs = 0;
  /** As it was read last. */
  #certificateEndsAtMs: number | undefined;

  constructor(options: ServiceWatchOptions) {
    this.#options = options;
    this.#loop = new LeasedLoop({
      ...options,
      lease: LEASE,
      leaseMs: LEASE_MS,
      pauseMs: () => LOOK_INTERVAL_MS,
      failureMessage: FAILURE,
      work: (signal, acquire) => this.#look(signal, acquire),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #look(signal: AbortSignal, acquire: AcquireLease): Promise<boolean> {
    if (!(await acquire())) return false;
    const { dataDir, publicUrl, clock } = this.#options;
    if (dataDir !== undefined) {
      const disk = { condition: "service_disk_low", subject: { id: "data_dir", name: "data directory" } } as const;
      await this.#judge(disk, signal, () => this.#isDiskLow(dataDir));
    }
    const outbox = { condition: "messages_stuck", subject: { id: "outbox", name: "outbox" } } as const;
    await this.#judge(outbox, signal, () => this.#areMessagesStuck());
    const url = certifiedUrl(publicUrl);
    const nowMs = Math.floor(clock.now());
    if (url === undefined || nowMs < this.#certificateDueMs) return false;
    this.#certificateDueMs = nowMs + CERTIFICATE_INTERVAL_MS;
    const tls = { condition: "tls_expiring", subject: { id: url.host, name: url.host } } as const;
    await this.#judge(tls, signal, () => this.#isCertificateExpiring(url, signal), 2 * CERTIFICATE_INTERVAL_MS);
    return false;
  }

  async #isDiskLow(dataDir: string): Promise<boolean> {
    return isDiskLow(await (this.#options.readDisk ?? readFileSystem)(dataDir));
  }

  async #areMessagesStuck(): Promise<boolean> {
    const { store, clock } = this.#options;
    return (await store.alertOutbox.countStuck(Math.floor(clock.now()) - STUCK_MS)) > 0;
  }

  /** Of the address under which people and devices reach the service, which a proxy may serve. `undefined`: not known. */
  async #isCertificateExpiring(url: URL, signal: AbortSignal): Promise<boolean | undefined> {
    const { clock, readCertificateEnd: read = readCertificateEnd } = this.#options;
    using limit = deadline(clock, CERTIFICATE_TIMEOUT_MS, signal);
    // While it cannot be read, the last known end holds.
    const endsAtMs = (await read(url, limit.signal)) ?? this.#certificateEndsAtMs;
    this.#certificateEndsAtMs = endsAtMs;
    return endsAtMs === undefined ? undefined : isCertificateExpiring(endsAtMs, Math.floor(clock.now()));
  }

  /** Notes whether a condition holds. One that cannot be looked at stays as it was, and keeps no other from being looked at. */
  async #judge(
    trouble: Pick<ServiceTrouble, "condition" | "subject">,
    signal: AbortSignal,
    look: () => Promise<boolean | undefined>,
    forMs = TROUBLE_MS,
  ): Promise<void> {
    const { store, accountId, logger, clock } = this.#options;
    const failed = (error: unknown): void => {
      if (!signal.aborted) logStoreError(logger, error, { condition: trouble.condition }, FAILURE);
    };
    const holds = await look().catch(failed);
    const sinceMs = Math.floor(clock.now());
    const noted = { ...trouble, accountId, sinceMs, untilMs: sinceMs + forMs };
    try {
      if (holds === undefined) await store.alerts.keepTrouble(noted);
      else if (holds) await store.alerts.noteTrouble(noted);
      else await store.alerts.endTrouble(noted);
    } catch (error) {
      failed(error);
    }
  }
}

/** Returns the address if its certificate is known to others: one for a number is the proxy's own. */
function certifiedUrl(publicUrl: string | undefined): URL | undefined {
  if (publicUrl?.startsWith("https:") !== true) return undefined;
  const url = new URL(publicUrl);
  return isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0 ? url : undefined;
}

async function readFileSystem(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
