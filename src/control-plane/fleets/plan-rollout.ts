import { EdgeError } from "../../protocol/errors/errors.ts";
import { invalidRequest } from "../../protocol/errors/request-error.ts";
import type { RolloutRequest } from "../../protocol/fleets/rollout.ts";
import { type RolloutStrategy, updateStrategy } from "../../protocol/fleets/rollout-strategy.ts";
import { termsOfSelector } from "../core/selector-terms.ts";
import { neededVariables } from "../core/fleets/attempt.ts";
import { type Fleet, type Goal, goalOf, ownedContent } from "../core/fleets/fleet.ts";
import {
  type BeginFacts,
  findAssetObstacle,
  findImpossibility,
  type Impossibility,
  type Obstacle,
  readinessOf,
} from "../core/fleets/decide-begin.ts";
import {
  currentWaves,
  type StoredPlan,
  PLAN_LIFETIME_MS,
  type PlannedWave,
  planWaves,
  type WaveMember,
} from "../core/fleets/waves.ts";
import type { TargetWait } from "../core/fleets/rollout-commands.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { Sealer } from "../sealing/sealer.ts";
import { createId } from "../accounts/secrets.ts";
import type { Candidate, StoredRevision } from "../store/fleets.ts";
import type { Store } from "../store/store.ts";
import { Uploads } from "../uploads/uploads.ts";
import type { Requester } from "./make-revision.ts";
import { openContent } from "./revision-content.ts";

const MEMBERS_AT_ONCE = 5_000;
/** Entries about what members wait for. */
const MAX_WAITS = 20;

export interface RolloutPlanOptions {
  readonly store: Pick<Store, "assets" | "fleets" | "rollouts" | "uploads">;
  readonly sealer: Sealer;
  readonly clock: ServiceClock;
}

/** A member with what a rollout finds there. */
export interface PlannedMember extends Candidate, WaveMember {
  /** What it waits for if it is its turn now; `undefined`: nothing. */
  readonly obstacle: Obstacle | undefined;
  /** Why it cannot get the revision at all. */
  readonly impossible: Impossibility | undefined;
}

/** What a rollout brings to which assets. */
export interface RolloutPlan {
  readonly id: string;
  readonly revision: StoredRevision;
  readonly goal: Goal;
  readonly strategy: RolloutStrategy;
  /** Members by wave; the last has all that are in no other. */
  readonly waves: readonly (readonly PlannedMember[])[];
  /** Numbers of members that have left or joined since it was made. */
  readonly left: number;
  readonly joined: number;
  readonly expiresAtMs: number;
}

/**
 * Plans a rollout to those who are members now, or returns the plan that the request names, with the members of now. Errors:
 * `RevisionNotFound`; `InvalidRequest` if the revision has no app of the fleet and no agent, or uploads of it have given way to others,
 * or a wave names an asset that is no member;
 * `PlanNotFound` if it has expired; `RolloutStateConflict` while the fleet goes back.
 */
export async function planRollout(
  options: RolloutPlanOptions,
  fleet: Fleet,
  request: RolloutRequest,
): Promise<RolloutPlan> {
  const { store, clock } = options;
  await refuseWhileGoingBack(store, fleet);
  const stored = request.plan_id === undefined ? undefined : await findPlan(options, fleet, request.plan_id);
  const number = stored?.revision ?? request.revision ?? fleet.lastRevision;
  const revision = number > 0 ? await store.fleets.findRevision(fleet.id, number) : undefined;
  if (!revision) throw new EdgeError("RevisionNotFound", undefined, { revision: number });
  const { apps, agentVersion } = revision.revision;
  if (agentVersion === undefined && !apps.some(({ name }) => fleet.apps.includes(name)))
    throw invalidRequest([{ path: "revision", reason: `revision ${number} has no app that the fleet owns` }]);
  await new Uploads(store.uploads, clock).useOfRevision(fleet.id, number);
  const strategy = stored?.strategy ?? updateStrategy(fleet.strategy, request.strategy ?? {});
  const goal = goalOf(fleet.name, number, ownedContent(fleet, openContent(options.sealer, revision)));
  const members = (await listCandidates(options, fleet)).map((each) => toPlannedMember(each, goal, clock.now()));
  const planned = { revision, goal, strategy };
  if (stored) return { ...planned, id: stored.id, expiresAtMs: stored.expiresAtMs, ...currentWaves(stored, members) };
  const id = createId("pln_");
  const waves = planWaves(id, await nameAssets(store, fleet, strategy, members), members);
  return { ...planned, id, waves, left: 0, joined: 0, expiresAtMs: clock.now() + PLAN_LIFETIME_MS };
}

/** Stores a plan, so that a rollout can be made from it. */
export async function savePlan(
  { store, clock }: Pick<RolloutPlanOptions, "store" | "clock">,
  { id: fleetId, accountId }: Fleet,
  { id, revision, strategy, waves, expiresAtMs }: RolloutPlan,
  { person }: Requester,
): Promise<void> {
  const plan: StoredPlan = {
    id,
    accountId,
    fleetId,
    revision: revision.revision.number,
    strategy,
    waves: waves.map((wave) => wave.map(({ assetUuid }) => assetUuid)),
    createdBy: person,
    createdAtMs: clock.now(),
    expiresAtMs,
  };
  await store.rollouts.createPlan(plan);
}

/** What is known of a rollout before it begins. */
export interface Foresight {
  /** What its members would wait for if it were their turn. */
  readonly waits: readonly TargetWait[];
  /** Number of members whose agent is too old. */
  readonly refused: number;
}

/** Says what members of a plan would wait for, the most frequent first. */
export function foresee({ waves }: Pick<RolloutPlan, "waves">): Foresight {
  const waits = new Map<string, TargetWait>();
  const members = waves.flat();
  for (const { obstacle, impossible } of members) {
    if (impossible || !obstacle) continue;
    const { waitsFor, message, endsAtMs, sinceMs } = obstacle;
    const isSame = waitsFor !== "conflict" && waitsFor !== "variable";
    const key = isSame ? waitsFor : `${waitsFor} ${message}`;
    const known = waits.get(key);
    waits.set(key, {
      for: waitsFor,
      count: (known?.count ?? 0) + 1,
      sinceMs: earlier(sinceMs, known?.sinceMs),
      untilMs: earlier(endsAtMs, known?.untilMs),
      message: isSame ? undefined : message,
    });
  }
  const sorted = [...waits.values()].toSorted((one, other) => other.count - one.count).slice(0, MAX_WAITS);
  return { waits: sorted, refused: members.filter(({ impossible }) => impossible !== undefined).length };
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

async function refuseWhileGoingBack({ rollouts }: RolloutPlanOptions["store"], fleet: Fleet): Promise<void> {
  const [latest] = await rollouts.listRollouts(fleet.id, 1);
  if (latest?.state === "rolling_back") throw goingBack(latest);
}

export function goingBack({ id, state }: { readonly id: string; readonly state: string }): EdgeError {
  const message = "Another rollout of the fleet is going back, which has to end first.";
  return new EdgeError("RolloutStateConflict", message, { rollout_id: id, state });
}

async function findPlan({ store, clock }: RolloutPlanOptions, fleet: Fleet, id: string): Promise<StoredPlan> {
  const plan = await store.rollouts.findPlan(id);
  if (plan?.fleetId !== fleet.id || plan.expiresAtMs <= clock.now()) throw new EdgeError("PlanNotFound");
  return plan;
}

async function listCandidates({ store, clock }: RolloutPlanOptions, fleet: Fleet): Promise<Candidate[]> {
  const terms = termsOfSelector(fleet.selector);
  const time = { now: Math.floor(clock.now() / 1000), serviceNowMs: Math.floor(clock.serviceNow()) };
  const members: Candidate[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.fleets.listCandidates(fleet, terms, time, MEMBERS_AT_ONCE, after);
    members.push(...page);
    if (page.length < MEMBERS_AT_ONCE) return members;
    after = page.at(-1)?.assetUuid;
  }
}

function toPlannedMember(candidate: Candidate, goal: Goal, nowMs: number): PlannedMember {
  const missingVariables = neededVariables(goal).filter((name) => !candidate.variableNames.has(name));
  const facts: BeginFacts = { ...candidate.facts, missingVariables };
  return {
    ...candidate,
    readiness: readinessOf(goal, facts, nowMs),
    obstacle: findAssetObstacle(facts, nowMs),
    impossible: findImpossibility(goal, facts),
  };
}

/** Returns the waves with the UUIDs of the assets that they name. Error: `InvalidRequest` if one is no member. */
async function nameAssets(
  { assets }: RolloutPlanOptions["store"],
  { accountId }: Fleet,
  { waves }: RolloutStrategy,
  members: readonly PlannedMember[],
): Promise<readonly PlannedWave[]> {
  const known = new Set(members.map(({ assetUuid }) => assetUuid));
  const issues: { readonly path: string; readonly reason: string }[] = [];
  const named: PlannedWave[] = [];
  for (const [index, { assets: names = [], ...wave }] of waves.entries()) {
    const assetUuids: string[] = [];
    for (const [at, name] of names.entries()) {
      const found = await assets.findAsset(accountId, name);
      if (found && known.has(found.uuid)) assetUuids.push(found.uuid);
      else
        issues.push({ path: `strategy.waves[${index}].assets[${at}]`, reason: `${name} is not a member of the fleet` });
    }
    named.push({ ...wave, assetUuids });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return named;
}
