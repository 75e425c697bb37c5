import { type Clock, unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type ReportDelta, reportDeltaSchema } from "../../protocol/app-report.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { applyReportDelta, type DeviceReport } from "../core/device-report.ts";
import type { ReportHandler } from "../devices/handlers.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { DeviceStore } from "../store/devices.ts";
import type { LastSeen } from "./last-seen.ts";

/** How long a device that keeps sending differences to another report is left alone, in milliseconds. */
const RESYNC_PAUSE_MS = 60_000;

export interface DeviceReportsOptions {
  readonly store: DeviceStore;
  readonly lastSeen: LastSeen;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps what devices tell of themselves and their apps, one report for each. */
export class DeviceReports implements ReportHandler {
  readonly #options: DeviceReportsOptions;
  /** When the whole report was last asked for in a session, by the monotonic clock. */
  readonly #resyncs = new WeakMap<DeviceSession, number>();

  constructor(parts: DeviceReportsOptions) {
    this.#options = parts;
  }

  async onHello({ assetUuid }: DeviceSession): Promise<string | undefined> {
    this.#options.lastSeen.record(assetUuid);
    return this.#options.store.findReportHash(assetUuid);
  }

  onDisconnected({ assetUuid }: DeviceSession): void {
    this.#options.lastSeen.record(assetUuid);
  }

  async onReport(session: DeviceSession, change: ReportDelta): Promise<void> {
    const held = await this.#options.store.findReport(session.assetUuid);
    // Sent twice: what it leads to is held already.
    if (change.base !== null && held?.value.hash === change.hash) return;
    const report = applyReportDelta(held?.value, change);
    if (!report || !(await this.#save(session, held?.value.hash, report))) this.#resync(session);
  }

  /** Asks for the complete report: what is held is not what the device took it for. */
  #resync(session: DeviceSession): void {
    const { clock, logger } = this.#options;
    const last = this.#resyncs.get(session);
    if (last !== undefined && clock.monotonic() - last < RESYNC_PAUSE_MS) return;
    this.#resyncs.set(session, clock.monotonic());
    session.query(
      "report",
      {},
      {
        answer: async (body) => {
          const change = reportDeltaSchema.safeParse(body);
          const report = change.success && change.data.base === null && applyReportDelta(undefined, change.data);
          // It is complete, so it takes the place of whatever is held.
          const heldHash = await this.#options.store.findReportHash(session.assetUuid);
          if (report) await this.#save(session, heldHash, report);
          else logger.warn({ asset: session.assetUuid }, "the device's report could not be understood");
        },
        end: (error) => {
          if (error) logger.info({ asset: session.assetUuid, code: error.code }, "the device sent no complete report");
        },
      },
    );
  }

  /** Answers false where another report has taken the place of the held one meanwhile, such as by another session. */
  async #save({ assetUuid }: DeviceSession, heldHash: string | undefined, report: DeviceReport): Promise<boolean> {
    const { store, clock, logger } = this.#options;
    const length = Buffer.byteLength(JSON.stringify(report));
    // No complete report is longer, since it has to fit one frame.
    if (length > MAX_FRAME_BYTES) {
      logger.warn({ asset: assetUuid, bytes: length }, "the device's report is too large; not kept");
      return true;
    }
    return store.replaceReport(assetUuid, heldHash, { value: report, at: unixNow(clock) });
  }
}
