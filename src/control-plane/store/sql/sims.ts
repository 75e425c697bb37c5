import type { SimType } from "../../../protocol/sim.ts";
import type { SimState } from "../../core/asset.ts";
import type { AuditEntry } from "../audit.ts";
import type { SimStore } from "../sims.ts";
import { appendAssetEvent } from "./append-events.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { change, type Work } from "./statement.ts";

const SET_STATE =
  "UPDATE sims SET status = ?, network_group = coalesce(?, network_group) WHERE asset_uuid = ? AND kind = ?";
const FIND_ICCID = "SELECT asset_uuid FROM sims WHERE iccid = ? LIMIT 1";

export class SqlSimStore implements SimStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async setSimState(
    assetUuid: string,
    type: SimType,
    { status, networkGroup }: SimState,
    audit?: AuditEntry,
  ): Promise<void> {
    await this.#executor.transact(function* (): Work<void> {
      if ((yield* change(SET_STATE, [status, networkGroup ?? null, assetUuid, type])) === 0) return;
      yield* appendAssetEvent(assetUuid, "sim.changed");
      if (audit) yield* recordAudit(audit);
    });
  }

  async hasIccid(iccid: string): Promise<boolean> {
    return (await this.#executor.one(FIND_ICCID, [iccid])) !== undefined;
  }
}
