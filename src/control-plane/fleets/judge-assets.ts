import { matchesSelector, type SelectorTerm } from "../../protocol/fleets/selector.ts";
import { bitsOfMembers } from "../core/attention.ts";
import type { ReportFacts } from "../core/fleets/target-decision.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { judgeAgainMs, judgeMember, type Judgement, type MemberGoal } from "../core/fleets/judge-member.ts";
import { isUnfinished } from "../core/fleets/progress.ts";
import { decideRepair, NO_REPAIRS, type Repairs, repairsAfter } from "../core/fleets/upkeep.ts";
import type { AssetFacts, AttentionChanges, MemberChange } from "../store/members.ts";

/** A fleet with what its members are judged by. */
export interface FleetScope {
  readonly fleet: Fleet;
  readonly selector: readonly SelectorTerm[];
  readonly goalOf: (revision: number) => MemberGoal | undefined;
}

/** A member that its fleet repairs now. */
export interface DueRepair {
  readonly fleet: Fleet;
  readonly assetUuid: string;
}

/** What has changed since assets were judged last. */
export interface Judged {
  readonly changes: readonly MemberChange[];
  readonly attention: AttentionChanges;
  readonly repairs: readonly DueRepair[];
}

/** Judges assets as members of all fleets of their account. Depends on nothing but its arguments. */
export function judgeAssets(scopes: readonly FleetScope[], assets: readonly AssetFacts[], nowMs: number): Judged {
  const changes: MemberChange[] = [];
  const attention = new Map<string, number>();
  const repairs: DueRepair[] = [];
  for (const asset of assets) {
    const own = scopes.filter(({ selector }) => matchesSelector(selector, asset));
    const report = own.length > 0 ? asset.readReport() : undefined;
    const states: Judgement["state"][] = [];
    for (const scope of own) {
      const judged = judgeIn(scope, asset, report, nowMs);
      states.push(judged.judgement.state);
      if (judged.change) changes.push(judged.change);
      if (judged.isRepaired) repairs.push({ fleet: scope.fleet, assetUuid: asset.assetUuid });
    }
    for (const [fleetId, before] of asset.members) {
      if (own.some(({ fleet }) => fleet.id === fleetId)) continue;
      changes.push({ fleetId, fleet: "", assetUuid: asset.assetUuid, before, after: undefined });
    }
    const bits = bitsOfMembers(states);
    if (bits !== asset.attentionBits) attention.set(asset.assetUuid, bits);
  }
  return { changes, attention, repairs };
}

function judgeIn({ fleet, goalOf }: FleetScope, asset: AssetFacts, report: ReportFacts | undefined, nowMs: number) {
  const { assetUuid } = asset;
  const before = asset.members.get(fleet.id);
  const targets = asset.targets.filter(({ fleetId }) => fleetId === fleet.id);
  const conflicts = asset.owners.filter(({ app, fleetId }) => fleetId !== fleet.id && fleet.apps.includes(app));
  const facts = { ...asset, report, targets, conflicts, revision: before?.revision };
  const judgement = judgeMember({ fleet, goalOf }, facts, before?.judgement, nowMs);

  const isUnderWay = targets.some((target) => target.kind === "upkeep" && isUnfinished(target));
  const earlier = before?.repairs ?? NO_REPAIRS;
  const isSame = before?.judgement?.state === judgement.state;
  const known = isSame ? earlier : repairsAfter(earlier, before?.judgement, nowMs);
  const repair = decideRepair(fleet, judgement, known, isUnderWay, nowMs);
  const repairs: Repairs = repair.kind === "repair" ? repair.repairs : known;
  const dueMs = repair.kind === "later" ? repair.atMs : judgeAgainMs(judgement);
  const after = { judgement, repairs, dueMs };
  const isChanged = !before || textOf(after) !== textOf(before);
  const change: MemberChange | undefined = isChanged
    ? { fleetId: fleet.id, fleet: fleet.name, assetUuid, before, after }
    : undefined;
  return { judgement, change, isRepaired: repair.kind === "repair" };
}

/** As it is stored: what is `undefined` is not. */
function textOf({
  judgement,
  repairs,
  dueMs,
}: Pick<NonNullable<MemberChange["after"]>, "judgement" | "repairs" | "dueMs">): string {
  if (!judgement) return "";
  const { state, sinceMs, waitsFor, untilMs, message, differences, revision } = judgement;
  const { count, lastAtMs } = repairs;
  return JSON.stringify([state, sinceMs, waitsFor, untilMs, message, differences, revision, count, lastAtMs, dueMs]);
}
