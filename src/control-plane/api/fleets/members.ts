import {
  type MemberBody,
  type MemberList,
  memberListQuerySchema,
  memberListSchema,
} from "../../../protocol/fleets/fleet-member.ts";
import type { TargetState } from "../../../protocol/fleets/rollout.ts";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { isUuid } from "../../../protocol/values/scalars.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import { nextRepair } from "../../core/fleets/upkeep.ts";
import type { MemberState } from "../../store/fleets.ts";
import type { Store } from "../../store/store.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { findFleet, fleetParams } from "./fleet-resource.ts";

const TARGETS_AT_ONCE = 1_000;

/** `GET /v1/fleets/{fleet}/members`: the assets of a fleet with how they are. */
export function listMembers(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/fleets/:fleet/members",
    {
      schema: {
        operationId: "listFleetMembers",
        summary: "Get Members",
        description:
          "The assets that the selector of the fleet matches now, in the order of their UUIDs, each with how it is, as judged from " +
          "what its device reports.",
        tags: ["Fleets"],
        params: fleetParams,
        querystring: memberListQuerySchema,
        response: { 200: json("One page of members.", memberListSchema), ...errors("FleetNotFound") },
      },
    },
    async (request): Promise<MemberList> => {
      const fleet = await findFleet(store, request);
      const { limit = DEFAULT_PAGE_SIZE, cursor, state: states } = request.query;
      const after = cursor === undefined ? undefined : assetOfCursor(cursor);
      const found = await store.fleets.listMembers(fleet, termsOfSelector(fleet.selector), limit + 1, after, states);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      const targets = await readTargetStates(store, fleet, page, after);
      const nowMs = clock.now();
      return {
        members: page.map((member) => toMemberBody(fleet, member, targets.get(member.assetUuid), nowMs)),
        next_cursor: last ? encodeCursor(last.assetUuid) : null,
      };
    },
  );
}

/** Returns the UUID in the cursor of a list that is in the order of UUIDs. Error: `InvalidRequest`. */
export function assetOfCursor(cursor: string): string {
  const uuid = decodeCursor(cursor);
  if (!isUuid(uuid)) throw invalidCursor();
  return uuid;
}

/** Returns the states of the members of the page in the rollout that is under way. */
async function readTargetStates(
  { rollouts }: Pick<Store, "rollouts">,
  { id }: Fleet,
  page: readonly MemberState[],
  after: string | undefined,
): Promise<ReadonlyMap<string, TargetState>> {
  const states = new Map<string, TargetState>();
  const [rollout] = await rollouts.listRollouts(id, 1);
  const end = page.at(-1)?.assetUuid;
  if (!rollout || isRolloutOver(rollout) || end === undefined) return states;
  for (let from = after; from === undefined || from < end;) {
    const targets = await rollouts.listTargets(rollout.id, TARGETS_AT_ONCE, from === undefined ? {} : { after: from });
    for (const { assetUuid, state } of targets) states.set(assetUuid, state);
    const last = targets.at(-1)?.assetUuid;
    if (last === undefined || targets.length < TARGETS_AT_ONCE) break;
    from = last;
  }
  return states;
}

const toSeconds = (ms: number): number => Math.floor(ms / 1000);

/** Since when a member is as it was judged to be, in Unix seconds; null: it was not judged yet. */
export function sinceOf(judgement: MemberState["judgement"]): number | null {
  return judgement ? toSeconds(judgement.sinceMs) : null;
}

/** Returns how the apps of a member differ from what it is to run. */
export function toDifferences(judgement: MemberState["judgement"]): MemberBody["differences"] {
  return (judgement?.differences ?? []).map(({ app, kind, what, by = null, sinceMs }) => ({
    app,
    kind,
    what,
    by,
    since: sinceMs === undefined ? null : toSeconds(sinceMs),
  }));
}

function toMemberBody(
  { onDrift }: Fleet,
  member: MemberState,
  target: TargetState | undefined,
  nowMs: number,
): MemberBody {
  const { judgement, repairs } = member;
  const nextMs = nextRepair(repairs, nowMs);
  return {
    asset_id: member.assetUuid,
    asset_name: member.assetName,
    serial_number: member.serialNumber,
    revision: member.revision ?? null,
    state: judgement?.state ?? "waiting",
    since: sinceOf(judgement),
    reported_at: member.reportedAt ?? null,
    ...(judgement?.waitsFor !== undefined && { for: judgement.waitsFor }),
    ...(judgement?.untilMs !== undefined && { until: toSeconds(judgement.untilMs) }),
    message: judgement ? (judgement.message ?? null) : "It was not judged yet.",
    differences: toDifferences(judgement),
    ...(onDrift === "repair" &&
      repairs.count > 0 && {
        repair: { count: repairs.count, next_at: nextMs === undefined ? null : toSeconds(nextMs) },
      }),
    conflict: member.conflict ?? null,
    target_state: target ?? null,
  };
}
