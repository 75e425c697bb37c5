import { type Clock, unixNow } from "../../lib/clock.ts";
import type { HealthRow } from "../../protocol/link/health-points.ts";
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

  async onHealth({ assetUuid }: Pick<DeviceSession, "assetUuid">, rows: readonly HealthRow[]): Promise<void> {
    const { store, clock } = this.#options;
    await store.addRows(assetUuid, plausibleRows(rows, unixNow(clock)));
  }
}
