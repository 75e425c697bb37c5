import type { DatabaseSync } from "node:sqlite";
import type { SimType } from "../../../protocol/sim.ts";
import type { SimState } from "../../core/asset.ts";
import type { SimStore } from "../sims.ts";

export class SqliteSimStore implements SimStore {
  readonly #setState;
  readonly #byIccid;

  constructor(database: DatabaseSync) {
    this.#setState = database.prepare(
      "UPDATE sims SET status = ?, network_group = coalesce(?, network_group) WHERE asset_uuid = ? AND kind = ?",
    );
    this.#byIccid = database.prepare("SELECT 1 FROM sims WHERE iccid = ?");
  }

  async setSimState(assetUuid: string, type: SimType, state: SimState): Promise<void> {
    this.#setState.run(state.status, state.networkGroup ?? null, assetUuid, type);
  }

  async hasIccid(iccid: string): Promise<boolean> {
    return this.#byIccid.get(iccid) !== undefined;
  }
}
