import { unixNow } from "../../lib/clock.ts";
import type { AssetPrice, PriceEvent, RolloutPrice } from "../../protocol/rollout-price.ts";
import type { RolloutRequest } from "../../protocol/rollout.ts";
import type { AuditOrigin } from "../audit/audit-entry.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { goalOf, ownedContent } from "../core/fleets/goal.ts";
import type { Member } from "../store/fleets.ts";
import type { Store } from "../store/store.ts";
import { planRollout, type RolloutPlan } from "./plan-rollout.ts";
import { type AssetPriceOptions, type PriceAnswer, priceAsset } from "./price-asset.ts";
import { openContent } from "./revision-content.ts";
import { requestIdOf, rolloutId } from "./rollout-id.ts";

/** Number of devices that are asked at a time. */
const MAX_ASKED_AT_ONCE = 32;

type Options = AssetPriceOptions & { readonly store: Store };

/** Plans the waves of a dry run. Errors as of `planRollout`. */
export async function planPrice(
  { store, clock }: Options,
  fleet: Fleet,
  request: RolloutRequest,
): Promise<RolloutPlan> {
  const id = rolloutId(requestIdOf(fleet.id, undefined, request), clock.now());
  return planRollout(store.fleets, fleet, id, request);
}

/**
 * Asks every connected asset of the plan what it would download, some at a time, and yields an event for each, as they answer,
 * and then the sums. Ends early when the signal aborts.
 */
export async function* priceRollout(
  options: Options,
  fleet: Fleet,
  { revision, strategy, waves }: RolloutPlan,
  origin: AuditOrigin,
  signal: AbortSignal,
): AsyncGenerator<PriceEvent, void, undefined> {
  const { store, sealer, clock } = options;
  const stable = fleet.stableRevision;
  const before = stable === undefined ? undefined : await store.fleets.findRevision(fleet.id, stable);
  const contents = [revision, before].map((stored) => stored && ownedContent(fleet, openContent(sealer, stored)));
  const goal = goalOf(fleet.name, revision.revision.number, contents[0]);
  const input = { goal, revisions: contents, strategy };
  const sums = { asked: 0, not_asked: 0, refused: 0, download_bytes: 0 };
  let seq = 0;
  const all = waves.flatMap((members, index) => members.map((member) => ({ member, wave: index + 1 })));
  const ask = async ({ member, wave }: (typeof all)[number]): Promise<AssetPrice> => {
    const answer = await priceAsset(options, member.assetUuid, input, origin, signal);
    count(sums, answer);
    return toAssetPrice(member, wave, answer);
  };
  for await (const asset of inParallel(all, MAX_ASKED_AT_ONCE, ask)) {
    if (signal.aborted) return;
    const message = asset.message ?? `${asset.asset_name} would download ${asset.download_bytes} bytes.`;
    yield { status: "Running", message, seq: ++seq, timestamp: unixNow(clock), asset };
  }
  const details: RolloutPrice = {
    waves: waves.map((members, index) => ({ wave: index + 1, targets: members.length })),
    targets: all.length,
    ...sums,
  };
  const message = `${sums.asked} of ${all.length} assets would download ${sums.download_bytes} bytes.`;
  yield { status: "Success", message, seq: ++seq, timestamp: unixNow(clock), details };
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

function toAssetPrice({ assetUuid, assetName }: Member, wave: number, answer: PriceAnswer): AssetPrice {
  const asset = { asset_id: assetUuid, asset_name: assetName, wave };
  if (answer.kind === "priced") return { ...asset, download_bytes: answer.downloadBytes };
  return { ...asset, code: answer.code, message: answer.message };
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
