import { unixNow } from "../../lib/clock.ts";
import type { AssetPrice, PriceEvent, RolloutPrice } from "../../protocol/fleets/rollout-price.ts";
import type { ForeseenBody, WaitReason } from "../../protocol/fleets/rollout.ts";
import { countOf } from "../../protocol/values/share.ts";
import type { AuditOrigin } from "../accounts/audit-entry.ts";
import { type Fleet, ownedContent } from "../core/fleets/fleet.ts";
import type { Store } from "../store/store.ts";
import { foresee, type PlannedMember, type RolloutPlan } from "./plan-rollout.ts";
import { type AssetPriceOptions, type PriceAnswer, priceAsset } from "./price-asset.ts";
import { openContent } from "./revision-content.ts";
import { toWaitingBody } from "./rollout-events.ts";

/** Number of devices that are asked at a time. */
const MAX_ASKED_AT_ONCE = 32;

type Options = AssetPriceOptions & { readonly store: Store };

/** What people have to end first: their devices are not asked. */
const NOT_ASKED: ReadonlySet<WaitReason> = new Set<WaitReason>([
  "connection",
  "acceptance",
  "hold",
  "conflict",
  "variable",
]);

export interface RolloutPriceInput {
  /** Whether devices are asked; otherwise only the plan is told. */
  readonly asks: boolean;
  readonly origin: AuditOrigin;
  readonly signal: AbortSignal;
}

/**
 * Asks every asset of the plan that can be what it would download, some at a time, and yields an event for each, as they answer,
 * and then the sums. Ends early when the signal aborts.
 */
export async function* priceRollout(
  options: Options,
  fleet: Fleet,
  plan: RolloutPlan,
  { asks, origin, signal }: RolloutPriceInput,
): AsyncGenerator<PriceEvent, void, undefined> {
  const { store, sealer, clock } = options;
  const { goal, revision, strategy, waves } = plan;
  const stable = fleet.stableRevision;
  const before = stable === undefined ? undefined : await store.fleets.findRevision(fleet.id, stable);
  const revisions = [revision, before].map((stored) => stored && ownedContent(fleet, openContent(sealer, stored)));
  const sums = { asked: 0, not_asked: 0, refused: 0, download_bytes: 0 };
  let seq = 0;
  const all = waves.flatMap((members, index) => members.map((member) => ({ member, wave: index + 1 })));
  const ask = async ({ member, wave }: (typeof all)[number]): Promise<AssetPrice> => {
    const known = knownAnswer(member, asks);
    const { agentVersion } = member.facts;
    const input = { goal, revisions, strategy, agentVersion };
    const answer = known ?? (await priceAsset(options, member.assetUuid, input, origin, signal));
    count(sums, answer);
    return toAssetPrice(member, wave, answer);
  };
  for await (const asset of inParallel(all, MAX_ASKED_AT_ONCE, ask)) {
    if (signal.aborted) return;
    const priced = `${asset.asset_name} would download ${asset.download_bytes} bytes.`;
    const message =
      asset.message ?? (asset.download_bytes === undefined ? `${asset.asset_name} is in wave ${asset.wave}.` : priced);
    yield { status: "Running", message, seq: ++seq, timestamp: unixNow(clock), asset };
  }
  const details: RolloutPrice = {
    revision: revision.revision.number,
    waves: waves.map((members, index) => ({ wave: index + 1, targets: members.length })),
    targets: all.length,
    ...sums,
    foreseen: toForeseenBody(plan),
    plan_id: plan.id,
    expires_at: Math.floor(plan.expiresAtMs / 1000),
  };
  const told = asks
    ? `${sums.asked} of ${all.length} assets would download ${sums.download_bytes} bytes.`
    : `Brings revision ${revision.revision.number} to ${all.length} assets.`;
  const [status, message] = canSucceed(plan, all.length, sums.refused)
    ? (["Success", told] as const)
    : (["Fail", `${told} ${sums.refused} would refuse it, with which the rollout could not succeed.`] as const);
  yield { status, message, seq: ++seq, timestamp: unixNow(clock), details };
}

/** Whether the rollout can end as succeeded although so many refuse it. */
function canSucceed({ strategy }: RolloutPlan, targets: number, refused: number): boolean {
  if (refused === 0) return true;
  const left = targets - refused;
  return left > 0 && (strategy.refused === "allow" || left >= Math.min(targets, countOf(strategy.done_at, targets)));
}

/** Returns what is known without asking the device; `undefined`: it has to be asked. */
function knownAnswer({ impossible, obstacle }: PlannedMember, asks: boolean): PriceAnswer | undefined {
  if (impossible) return { kind: "refused", ...impossible };
  if (obstacle && (!asks || NOT_ASKED.has(obstacle.waitsFor))) {
    const isAway = obstacle.waitsFor === "connection" || obstacle.waitsFor === "acceptance";
    return { kind: "not_asked", message: obstacle.message, ...(isAway && { code: "DeviceNotReachable" }) };
  }
  return asks ? undefined : { kind: "not_asked" };
}

/** Returns what is known of a plan before it begins, as clients see it. */
export function toForeseenBody(plan: Pick<RolloutPlan, "waves" | "left" | "joined">): ForeseenBody {
  const { waits, refused } = foresee(plan);
  return { waiting_for: waits.map(toWaitingBody), refused, left: plan.left, joined: plan.joined };
}

type Sums = { -readonly [K in "asked" | "not_asked" | "refused" | "download_bytes"]: number };

function count(sums: Sums, answer: PriceAnswer): void {
  if (answer.kind === "not_asked") sums.not_asked++;
  else if (answer.kind === "refused") sums.refused++;
  else {
    sums.asked++;
    sums.download_bytes += answer.downloadBytes;
  }
}

function toAssetPrice(
  { assetUuid, assetName, serialNumber, obstacle, impossible }: PlannedMember,
  wave: number,
  answer: PriceAnswer,
): AssetPrice {
  const isWaiting = impossible === undefined && obstacle !== undefined;
  return {
    asset_id: assetUuid,
    asset_name: assetName,
    serial_number: serialNumber,
    wave,
    ...(isWaiting && { for: obstacle.waitsFor }),
    ...(answer.kind === "priced" && { download_bytes: answer.downloadBytes }),
    ...(answer.kind !== "priced" && answer.code !== undefined && { code: answer.code }),
    ...(answer.kind !== "priced" && answer.message !== undefined && { message: answer.message }),
  };
}

/** Yields what the work returns in the order in which it ends, with at most `limit` under way. */
async function* inParallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const running = new Map<number, Promise<readonly [number, R]>>();
  for (const [index, item] of items.entries()) {
    running.set(
      index,
      work(item).then((result) => [index, result] as const),
    );
    if (running.size < limit) continue;
    const [ended, result] = await Promise.race(running.values());
    running.delete(ended);
    yield result;
  }
  while (running.size > 0) {
    const [ended, result] = await Promise.race(running.values());
    running.delete(ended);
    yield result;
  }
}
