import type { Fleet, Person, Revision } from "../../../src/control-plane/core/fleets/fleet.ts";
import type { StoredPlan } from "../../../src/control-plane/core/fleets/waves.ts";
import type { Rollout, Target } from "../../../src/control-plane/core/fleets/rollout.ts";
import { createId } from "../../../src/control-plane/accounts/secrets.ts";
import type { StoredRevision } from "../../../src/control-plane/store/fleets.ts";
import { rolloutStrategySchema } from "../../../src/protocol/fleets/rollout-strategy.ts";
import type { RolloutEvent } from "../../../src/protocol/fleets/rollout.ts";

let count = 0;

export const SOMEBODY: Person = { kind: "user", id: "usr_1", name: "Jane" };

/** A fleet of account `acc_1` with a name of its own. */
export function someFleet(fields: Partial<Fleet> = {}): Fleet {
  const number = String(++count).padStart(6, "0");
  return {
    id: `flt_${number}`,
    accountId: "acc_1",
    name: `fleet-${number}`,
    selector: "role=kiosk",
    apps: ["web"],
    strategy: rolloutStrategySchema.parse({}),
    onDrift: "report",
    stableRevision: undefined,
    lastRevision: 0,
    pausedReason: undefined,
    createdAtMs: 1_000_000,
    version: 1,
    ...fields,
  };
}

export function someRevision(
  { id }: Pick<Fleet, "id">,
  number: number,
  fields: Partial<Revision> = {},
  content = `content ${number}`,
): StoredRevision {
  const revision: Revision = {
    fleetId: id,
    number,
    apps: [{ name: "web", image: "registry.example.com/web@sha256:1", shownImage: "registry.example.com/web:1" }],
    agentVersion: undefined,
    hash: `hash ${number}`,
    comment: undefined,
    createdAtMs: 1_000_000,
    createdBy: SOMEBODY,
    ...fields,
  };
  return { revision, keyId: "key_a", sealed: Buffer.from(content) };
}

export function someRollout(
  { id, accountId }: Pick<Fleet, "id" | "accountId">,
  fields: Partial<Rollout> = {},
): Rollout {
  return {
    id: `rol_${String(++count).padStart(6, "0")}`,
    accountId,
    fleetId: id,
    kind: "rollout",
    retryOf: undefined,
    revision: 1,
    previousRevision: undefined,
    state: "running",
    strategy: rolloutStrategySchema.parse({}),
    wave: 0,
    waveSizes: [],
    waveEnteredAtMs: undefined,
    advanceTo: undefined,
    acceptedFailures: 0,
    reason: undefined,
    createdBy: SOMEBODY,
    approvedBy: undefined,
    stoppedBy: undefined,
    createdAtMs: 1_000_000,
    startedAtMs: undefined,
    finishedAtMs: undefined,
    isActive: true,
    epoch: 0,
    version: 1,
    ...fields,
  };
}

export function someTarget({ id }: Pick<Rollout, "id">, assetUuid: string, fields: Partial<Target> = {}): Target {
  return {
    rolloutId: id,
    assetUuid,
    wave: 0,
    direction: "forward",
    state: "pending",
    waitsFor: undefined,
    attempt: 0,
    failedAttempts: 0,
    attemptsBefore: 0,
    deploymentId: undefined,
    wasAttempted: false,
    begunAtMs: undefined,
    soakSinceMs: undefined,
    downSinceMs: undefined,
    awaySinceMs: undefined,
    sinceMs: 1_000_000,
    dueMs: undefined,
    code: undefined,
    message: undefined,
    ...fields,
  };
}

export function somePlan(
  { id, accountId }: Pick<Fleet, "id" | "accountId">,
  fields: Partial<StoredPlan> = {},
): StoredPlan {
  return {
    id: createId("pln_"),
    accountId,
    fleetId: id,
    revision: 1,
    strategy: rolloutStrategySchema.parse({}),
    waves: [["asset-1"]],
    createdBy: SOMEBODY,
    createdAtMs: 1_000,
    expiresAtMs: 2_000,
    ...fields,
  };
}

export function someRolloutEvent({ id, state }: Pick<Rollout, "id" | "state">): Omit<RolloutEvent, "seq"> {
  return {
    status: "Running",
    message: "Something happened.",
    rollout_id: id,
    timestamp: 1_000,
    state,
    wave: 1,
    counts: {},
    waiting_for: [],
    waits_for_people: false,
  };
}
