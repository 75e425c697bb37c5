import { type Clock, unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type ReportDelta, reportDeltaSchema } from "../../protocol/apps/app-report.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { applyReportDelta, type DeviceReport } from "../core/device-report.ts";
import type { ReportHandler, HealthHandler } from "./handlers.ts";
import type { DeviceSession } from "./session.ts";
import type { DeviceStore } from "../store/devices.ts";
import type { HealthReport } from "../../protocol/link/health-message.ts";
import { plausibleRows } from "../core/health-days.ts";
import type { HealthStore } from "../store/health.ts";

/** Minimum interval between two requests for a complete report in a session, in milliseconds. */
const RESYNC_INTERVAL_MS = 60_000;

export interface DeviceReportsOptions {
  readonly store: DeviceStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Stores the reports of devices, one per device. */
export class DeviceReports implements ReportHandler {
  readonly #options: DeviceReportsOptions;
  /** When the complete report was last requested in a session, by the monotonic clock. */
  readonly #resyncs = new WeakMap<DeviceSession, number>();
  /** Sessions whose device holds back changes. */
  readonly #holding = new WeakSet<DeviceSession>();

  constructor(options: DeviceReportsOptions) {
    this.#options = options;
  }

  async onReport(session: DeviceSession, delta: ReportDelta): Promise<void> {
    this.#holding.delete(session);
    const stored = await this.#options.store.findReport(session.assetUuid);
    // Sent twice: the result is stored already.
    if (delta.base !== null && stored?.value.hash === delta.hash) {
      return this.#options.store.recordHeld(session.assetUuid, undefined, session);
    }
    const report = applyReportDelta(stored?.value, delta);
    if (!report || !(await this.#save(session, stored?.value.hash, report))) this.#resync(session);
  }

  async onReportHeld(session: DeviceSession, heldForS: number | null): Promise<void> {
    const { store, clock } = this.#options;
    if (heldForS === null) this.#holding.delete(session);
    else this.#holding.add(session);
    await store.recordHeld(session.assetUuid, heldForS === null ? undefined : unixNow(clock) - heldForS, session);
  }

  /** Requests the complete report: the stored one is not the base of the device's delta. */
  #resync(session: DeviceSession): void {
    const { clock, logger } = this.#options;
    const last = this.#resyncs.get(session);
    if (last !== undefined && clock.monotonic() - last < RESYNC_INTERVAL_MS) return;
    this.#resyncs.set(session, clock.monotonic());
    session.query(
      "report",
      {},
      {
        answer: async (body) => {
          const delta = reportDeltaSchema.safeParse(body);
          const report = delta.success && delta.data.base === null && applyReportDelta(undefined, delta.data);
          // It is complete, so it replaces any stored report.
          const storedHash = await this.#options.store.findReportHash(session.assetUuid);
          if (report) {
            await this.#save(session, storedHash, report);
            // It is current now; the device goes on holding back what changes from now on.
            if (this.#holding.has(session))
              await this.#options.store.recordHeld(session.assetUuid, unixNow(clock), session);
          } else logger.warn({ asset: session.assetUuid }, "the device's complete report is invalid");
        },
        end: (error) => {
          if (error) logger.info({ asset: session.assetUuid, code: error.code }, "the device sent no complete report");
        },
      },
    );
  }

  /** Returns false if the stored report was replaced meanwhile, such as by another session. */
  async #save(session: DeviceSession, storedHash: string | undefined, report: DeviceReport): Promise<boolean> {
    const { store, clock, logger } = this.#options;
    const { assetUuid } = session;
    const bytes = Buffer.byteLength(JSON.stringify(report));
    // A complete report fits into one frame; one composed of deltas may be larger.
    if (bytes > MAX_FRAME_BYTES) {
      logger.warn({ asset: assetUuid, bytes }, "the device's report is too large; not stored");
      return true;
    }
    return store.replaceReport(assetUuid, storedHash, { value: report, at: unixNow(clock) }, session);
  }
}

/** Stores how devices were, from the rows that they send. */
export class DeviceHealthRows implements HealthHandler {
  readonly #options: { readonly store: Pick<HealthStore, "addRows">; readonly clock: Clock };

  constructor(options: { readonly store: Pick<HealthStore, "addRows">; readonly clock: Clock }) {
    this.#options = options;
  }

  async onHealth({ assetUuid }: Pick<DeviceSession, "assetUuid">, { rows, apps }: HealthReport): Promise<void> {
    const { store, clock } = this.#options;
    const now = unixNow(clock);
    await store.addRows(assetUuid, plausibleRows(rows, now), plausibleRows(apps, now));
  }
}
