import {
  type RolloutList,
  rolloutListSchema,
  type TargetList,
  targetListQuerySchema,
  targetListSchema,
} from "../../../protocol/fleets/rollout-list.ts";
import { type RolloutBody, rolloutSchema } from "../../../protocol/fleets/rollout.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { pageQuerySchema } from "../../../protocol/people/users.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { findFleet, fleetParams } from "../fleets/fleet-resource.ts";
import { assetOfCursor } from "../fleets/members.ts";
import { findRollout, rolloutParams, toRolloutBody, toTargetBody } from "./rollout-resource.ts";

const TAGS = ["Rollouts"];

/** `GET /v1/fleets/{fleet}/rollouts`: the rollouts of a fleet, newest first. */
export function listRollouts(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/fleets/:fleet/rollouts",
    {
      schema: {
        operationId: "listRollouts",
        summary: "Get Rollouts",
        description: "The rollouts of the fleet, newest first.",
        tags: TAGS,
        params: fleetParams,
        querystring: pageQuerySchema,
        response: {
          200: json("One page of rollouts.", rolloutListSchema),
          ...errors("FleetNotFound"),
        },
      },
    },
    async (request): Promise<RolloutList> => {
      const fleet = await findFleet(store, request);
      const { limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const before = cursor === undefined ? undefined : idOfCursor(cursor);
      const found = await store.rollouts.listRollouts(fleet.id, limit + 1, before);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return {
        rollouts: await Promise.all(page.map((rollout) => toRolloutBody(store, { fleet, rollout }))),
        next_cursor: last ? encodeCursor(last.id) : null,
      };
    },
  );
}

/** `GET /v1/fleets/{fleet}/rollouts/{rollout_id}`: one rollout. */
export function getRollout(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/fleets/:fleet/rollouts/:rollout_id",
    {
      schema: {
        operationId: "getRollout",
        summary: "Rollout Details",
        description: "The rollout with its waves, the number of its targets by state, and what it waits for.",
        tags: TAGS,
        params: rolloutParams,
        response: { 200: json("The rollout.", rolloutSchema), ...errors("FleetNotFound", "RolloutNotFound") },
      },
    },
    async (request): Promise<RolloutBody> => toRolloutBody(store, await findRollout(store, request)),
  );
}

/** `GET /v1/fleets/{fleet}/rollouts/{rollout_id}/targets`: a rollout's state on each asset. */
export function listTargets(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/fleets/:fleet/rollouts/:rollout_id/targets",
    {
      schema: {
        operationId: "listRolloutTargets",
        summary: "Get Targets",
        description: "The rollout's state on each asset, in the order of their UUIDs.",
        tags: TAGS,
        params: rolloutParams,
        querystring: targetListQuerySchema,
        response: {
          200: json("One page of targets.", targetListSchema),
          ...errors("FleetNotFound", "RolloutNotFound"),
        },
      },
    },
    async (request): Promise<TargetList> => {
      const { rollout } = await findRollout(store, request);
      const { limit = DEFAULT_PAGE_SIZE, cursor, state: states, wave, failed } = request.query;
      const found = await store.rollouts.listTargets(rollout.id, limit + 1, {
        ...(states && { states }),
        hasFailed: failed ?? false,
        ...(wave !== undefined && { wave: wave - 1 }),
        ...(cursor !== undefined && { after: assetOfCursor(cursor) }),
      });
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      const attempts = await store.rollouts.listAttempts(
        rollout.id,
        page.map(({ assetUuid }) => assetUuid),
      );
      const targets = page.map((target) => toTargetBody(target, attempts.get(target.assetUuid)));
      return { targets, next_cursor: last ? encodeCursor(last.assetUuid) : null };
    },
  );
}

function idOfCursor(cursor: string): string {
  const id = decodeCursor(cursor);
  if (!/^rol_[0-9a-f]{1,64}$/.test(id)) throw invalidCursor();
  return id;
}
