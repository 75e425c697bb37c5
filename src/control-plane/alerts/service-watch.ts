import { statfs } from "node:fs/promises";
import { isIP } from "node:net";
import { deadline } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ServiceCondition } from "../../protocol/alerts/condition.ts";
import { type DiskSpace, isCertificateExpiring, isDiskLow } from "../core/alerts/service-troubles.ts";
import { LeasedLoop } from "../instances/leased-loop.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { SharedRole } from "../instances/shared-role.ts";
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
  readonly #role: SharedRole;
  readonly #loop: LeasedLoop;
  #certificateDueMs = 0;
  /** As it was read last. */
  #certificateEndsAtMs: number | undefined;

  constructor(options: ServiceWatchOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#role = new SharedRole({ ...options, lease: LEASE, leaseMs: LEASE_MS });
    this.#loop = new LeasedLoop({
      role: this.#role,
      clock,
      logger,
      pauseMs: () => LOOK_INTERVAL_MS,
      failureMessage: FAILURE,
      work: (signal) => this.#look(signal),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #look(signal: AbortSignal): Promise<boolean> {
    if (!(await this.#role.acquire())) return false;
    await this.#try("disk", signal, () => this.#lookAtDisk());
    await this.#try("messages", signal, () => this.#lookAtMessages());
    await this.#try("certificate", signal, () => this.#lookAtCertificate(signal));
    return false;
  }

  /** A disk that cannot be looked at, for instance, must not hide what is the matter with the rest. */
  async #try(subject: string, signal: AbortSignal, look: () => Promise<void>): Promise<void> {
    try {
      await look();
    } catch (error) {
      if (!signal.aborted) logStoreError(this.#options.logger, error, { subject }, FAILURE);
    }
  }

  async #lookAtDisk(): Promise<void> {
    const { dataDir, readDisk = readFileSystem } = this.#options;
    if (dataDir === undefined) return;
    const subject = { id: "data_dir", name: "data directory" };
    await this.#note("service_disk_low", subject, isDiskLow(await readDisk(dataDir)));
  }

  async #lookAtMessages(): Promise<void> {
    const { store, clock } = this.#options;
    const stuck = await store.alertOutbox.countStuck(Math.floor(clock.now()) - STUCK_MS);
    await this.#note("messages_stuck", { id: "outbox", name: "outbox" }, stuck > 0);
  }

  /** Of the address under which people and devices reach the service, which a proxy may serve. */
  async #lookAtCertificate(signal: AbortSignal): Promise<void> {
    const { publicUrl, clock, readCertificateEnd: read = readCertificateEnd } = this.#options;
    const nowMs = Math.floor(clock.now());
    if (publicUrl?.startsWith("https:") !== true || nowMs < this.#certificateDueMs) return;
    const url = new URL(publicUrl);
    // A certificate for a number is the proxy's own.
    if (isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0) return;
    using limit = deadline(clock, CERTIFICATE_TIMEOUT_MS, signal);
    // While it cannot be read, the last known end holds: the trouble would lapse as if it were over.
    const endsAtMs = (await read(url, limit.signal)) ?? this.#certificateEndsAtMs;
    this.#certificateEndsAtMs = endsAtMs;
    this.#certificateDueMs = nowMs + CERTIFICATE_INTERVAL_MS;
    if (endsAtMs === undefined) return;
    const subject = { id: url.host, name: url.host };
    const isExpiring = isCertificateExpiring(endsAtMs, nowMs);
    await this.#note("tls_expiring", subject, isExpiring, 2 * CERTIFICATE_INTERVAL_MS);
  }

  async #note(
    condition: ServiceCondition,
    subject: { readonly id: string; readonly name: string },
    holds: boolean,
    forMs = TROUBLE_MS,
  ): Promise<void> {
    const { store, accountId, clock } = this.#options;
    const sinceMs = Math.floor(clock.now());
    if (holds) await store.alerts.noteTrouble({ accountId, condition, subject, sinceMs, untilMs: sinceMs + forMs });
    else await store.alerts.endTrouble({ accountId, condition, subject });
  }
}

async function readFileSystem(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
