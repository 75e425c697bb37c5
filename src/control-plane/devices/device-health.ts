import { type Clock, unixNow } from "../../lib/clock.ts";
import type { HealthReport } from "../../protocol/link/health-message.ts";
import { plausibleRows } from "../core/health-days.ts";
import type { HealthStore } from "../store/health.ts";
import type { HealthHandler } from "./handlers.ts";
import type { DeviceSession } from "./session.ts";

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
