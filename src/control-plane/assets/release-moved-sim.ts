import { auditEntry } from "../accounts/audit-entry.ts";
import { simIdentifiersOf } from "../core/identifier.ts";
import type { LeaseLock } from "../instances/lease-lock.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { type OperatorSim, type SimOperator, SimOperatorError, toOperatorSim } from "../sim-operator/sim-operator.ts";
import { SIM_TYPES } from "../../protocol/assets/sim.ts";
import type { Store } from "../store/store.ts";
import { assetLockOf } from "./asset-lock.ts";
import type { SimBinder } from "./bind-sims.ts";
import type { IdentifierConflict } from "./register-asset.ts";

export interface SimReleaser extends SimBinder {
  readonly store: Pick<Store, "assets" | "sims">;
  readonly assets: { readonly locks: LeaseLock };
}

/**
 * Takes a SIM from the asset of another account if the operators say that it is this account's: the operator of this account knows it,
 * which was asked before, and that of the other account does not any more, or was never asked. Returns whether it did.
 *
 * @param accountId the account whose operator knows the SIM
 */
export async function releaseMovedSim(
  releaser: SimReleaser,
  accountId: string,
  { taken, value, owner }: IdentifierConflict,
): Promise<boolean> {
  const { store, assets, sims, clock, stopping } = releaser;
  if (owner.accountId === accountId) return false;
  await using _lock = await assets.locks.acquire(assetLockOf(owner.assetUuid), stopping);
  const asset = await store.assets.findAsset(owner.accountId, owner.assetUuid);
  // As a serial number, or as the number of a SIM of the other type, the value says nothing: no operator was asked for it.
  const type = SIM_TYPES.find((each) => taken.startsWith(`${each}.`));
  if (!asset || !type || !simIdentifiersOf(asset, type).some((each) => each.value === value)) return false;
  const sim = toOperatorSim(asset, type);
  if (!sim) return false;
  const mine = await sims.operators.find(accountId, sim.type);
  const theirs = await sims.operators.find(owner.accountId, sim.type);
  if (mine.usagePeriod === undefined || mine === theirs) return false;
  if (theirs.usagePeriod !== undefined && !(await isUnknown(releaser, theirs, sim))) return false;
  const origin = { accountId: owner.accountId, actor: { kind: "service", id: "sims" }, source: undefined } as const;
  const entry = auditEntry(origin, clock, {
    action: "sim.released",
    assetUuid: asset.uuid,
    subject: { kind: "asset", id: asset.uuid, name: asset.name },
    details: { sim_type: sim.type, iccid: sim.iccid },
  });
  return store.sims.releaseSim(asset, sim.type, entry);
}

/** Only if it says so: what does not answer may know it. */
async function isUnknown(
  { clock, stopping, logger }: SimReleaser,
  operator: SimOperator,
  sim: OperatorSim,
): Promise<boolean> {
  try {
    const found = await callOperator(clock, stopping, (signal) => operator.findSim(sim, signal));
    return found === undefined;
  } catch (error) {
    if (!(error instanceof SimOperatorError)) throw error;
    logger.warn({ err: error, sim: sim.type }, "SIM operator did not say whether a SIM has moved to another account");
    return false;
  }
}
