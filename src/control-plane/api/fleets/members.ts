import {
  type MemberBody,
  type MemberList,
  memberListSchema,
  type MemberStateName,
} from "../../../protocol/fleet-member.ts";
import type { TargetState } from "../../../protocol/rollout.ts";
import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import { isUuid } from "../../../protocol/scalars.ts";
import { pageQuerySchema } from "../../../protocol/users.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import { termsOf } from "../../fleets/plan-rollout.ts";
import type { MemberState } from "../../store/fleets.ts";
import type { Store } from "../../store/store.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { DEFAULT_PAGE_SIZE, findFleet, fleetParams } from "./fleet-resource.ts";

const TARGETS_AT_ONCE = 1_000;

/** `GET /v1/fleets/{fleet}/members`: the assets of a fleet with what they run. */
export function listMembers(api: Api, { store }: ApiContext): void {
  api.get(
    "/v1/fleets/:fleet/members",
    {
      schema: {
        operationId: "listFleetMembers",
        summary: "Get Members",
        description:
          "The assets that the selector of the fleet matches now, in the order of their UUIDs, with what they run.",
        tags: ["Fleets"],
        params: fleetParams,
        querystring: pageQuerySchema,
        response: { 200: json("One page of members.", memberListSchema), ...errors("FleetNotFound", "InvalidRequest") },
      },
    },
    async (request): Promise<MemberList> => {
      const fleet = await findFleet(store, request);
      const { limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const after = cursor === undefined ? undefined : assetOfCursor(cursor);
      const found = await store.fleets.listMembers(fleet, termsOf(fleet), limit + 1, after);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      const targets = await readTargetStates(store, fleet, page, after);
      return {
        members: page.map((member) => toMemberBody(fleet, member, targets.get(member.assetUuid))),
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

function toMemberBody(fleet: Fleet, member: MemberState, target: TargetState | undefined): MemberBody {
  return {
    asset_id: member.assetUuid,
    asset_name: member.assetName,
    revision: member.revision ?? null,
    state: stateOf(fleet, member, target),
    conflict: member.conflict ?? null,
    target_state: target ?? null,
  };
}

function stateOf({ stableRevision }: Fleet, member: MemberState, target: TargetState | undefined): MemberStateName {
  if (member.conflict !== undefined) return "conflict";
  if (target === "deploying" || target === "soaking") return "updating";
  if (member.revision !== undefined) return member.revision === stableRevision ? "current" : "other";
  return member.isOwner ? "drifted" : "new";
}
