import { z } from "zod";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import {
  type FleetBody,
  fleetCreationSchema,
  type FleetList,
  fleetListSchema,
  fleetSchema,
  fleetUpdateSchema,
} from "../../../protocol/fleets/fleet.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { updateStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { pageQuerySchema } from "../../../protocol/people/users.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { decodeCursor, encodeCursor } from "../../core/cursor.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import { createId } from "../../accounts/secrets.ts";
import { MAX_FLEETS } from "../../store/fleets.ts";
import type { Store } from "../../store/store.ts";
import { accountOf } from "../auth.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { ENTITY_TAG_HEADERS, errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";
import {
  canonicalSelector,
  findFleet,
  fleetParams,
  fleetSubjectOf,
  requireWaiver,
  toFleetItem,
  waivesApproval,
} from "./fleet-resource.ts";

const TAGS = ["Fleets"];

/** `GET /v1/fleets`: the fleets of the account, by name. */
export function listFleets(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/fleets",
    {
      schema: {
        operationId: "listFleets",
        summary: "Get Fleets",
        description: "The fleets of the account, by name.",
        tags: TAGS,
        querystring: pageQuerySchema,
        response: { 200: json("One page of fleets.", fleetListSchema), ...errors() },
      },
    },
    async (request): Promise<FleetList> => {
      const { limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const after = cursor === undefined ? undefined : nameOfCursor(cursor);
      const found = await store.fleets.listFleets(accountOf(request), limit + 1, after);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return {
        fleets: await Promise.all(page.map((fleet) => toFleetItem(store, fleet))),
        next_cursor: last ? encodeCursor(last.name) : null,
      };
    },
  );
}

/** `POST /v1/fleets`: creates a fleet. */
export function createFleet(api: Api, { store, clock, fleets }: ApiContext<"fleets">): void {
  api.post(
    "/v1/fleets",
    {
      schema: {
        operationId: "createFleet",
        summary: "Create Fleet",
        description:
          "Creates a fleet over the assets that the selector matches. Nothing reaches a device before a revision is rolled out.",
        tags: TAGS,
        body: fleetCreationSchema,
        response: {
          201: json("The fleet.", fleetSchema, ENTITY_TAG_HEADERS),
          ...errorsWithBody("FleetExists", "QuotaExceeded"),
        },
      },
    },
    async (request, reply): Promise<FleetBody> => {
      const { name, apps, strategy, on_drift: onDrift } = request.body;
      const fleet: Fleet = {
        id: createId("flt_"),
        accountId: accountOf(request),
        name,
        selector: canonicalSelector(request.body.selector),
        apps,
        strategy,
        onDrift,
        stableRevision: undefined,
        lastRevision: 0,
        pausedReason: undefined,
        createdAtMs: clock.now(),
        version: 1,
      };
      const details = { selector: fleet.selector, apps };
      const audit = auditOf(request, clock, { action: "fleet.created", subject: fleetSubjectOf(fleet), details });
      const { kind } = await store.fleets.createFleet(fleet, audit);
      if (kind === "name_taken") throw new EdgeError("FleetExists", undefined, { fleet: name });
      if (kind === "too_many") {
        throw new EdgeError("QuotaExceeded", `The account has ${MAX_FLEETS} fleets, which is the maximum.`, {
          quota: "fleets",
          limit: MAX_FLEETS,
        });
      }
      fleets.wake();
      void reply.code(201);
      return sendResource(reply, await readFleet(store, fleet));
    },
  );
}

/** `GET /v1/fleets/{fleet}`: one fleet. */
export function getFleet(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/fleets/:fleet",
    {
      schema: {
        operationId: "getFleet",
        summary: "Fleet Details",
        description: "The fleet with the number of its members by state.",
        tags: TAGS,
        params: fleetParams,
        response: { 200: json("The fleet.", fleetSchema), ...errors("FleetNotFound") },
      },
    },
    async (request, reply): Promise<FleetBody> =>
      sendResource(reply, await readFleet(store, await findFleet(store, request))),
  );
}

/** `PATCH /v1/fleets/{fleet}`: changes a fleet. */
export function updateFleet(api: Api, { store, clock, fleets }: ApiContext<"fleets">): void {
  api.patch(
    "/v1/fleets/:fleet",
    {
      schema: {
        operationId: "updateFleet",
        summary: "Update Fleet",
        description:
          "Changes the fleet. Assets that are no longer members keep their apps, and all assets those that `apps` no longer has. " +
          "They belong to no fleet from then on. The strategy applies to rollouts that are made later. That they no longer need " +
          "approval takes the permission `fleets.waive_approval`.",
        tags: TAGS,
        params: fleetParams,
        headers: ifMatchHeaders,
        body: fleetUpdateSchema,
        response: {
          200: json("The fleet.", fleetSchema),
          ...errorsWithBody("FleetNotFound", "FleetExists", "PreconditionFailed"),
        },
      },
    },
    async (request, reply): Promise<FleetBody> => {
      const fleet = await findFleet(store, request);
      const precondition = preconditionOf(request, fleetState);
      const { name, selector, apps, strategy, on_drift: onDrift, paused_reason: pausedReason } = request.body;
      const changed = Object.keys(request.body);
      if (changed.length === 0)
        throw invalidRequest([{ path: "", reason: "nothing to update; give at least one field" }]);
      const canonical = selector === undefined ? undefined : canonicalSelector(selector);
      const details = { changed, selector: canonical, apps };
      const audit = auditOf(request, clock, { action: "fleet.changed", subject: fleetSubjectOf(fleet), details });
      const decide = (current: Fleet) => {
        precondition?.(current);
        if (waivesApproval(current, strategy)) requireWaiver(request);
        return {
          ...(name !== undefined && { name }),
          ...(canonical !== undefined && { selector: canonical }),
          ...(apps !== undefined && { apps }),
          ...(strategy !== undefined && { strategy: updateStrategy(current.strategy, strategy) }),
          ...(onDrift !== undefined && { onDrift }),
          ...(pausedReason !== undefined && { pausedReason: pausedReason ?? undefined }),
        };
      };
      const after = await changeResource(
        reply,
        () => presentFleet(store, fleet.id),
        () => store.fleets.updateFleet(fleet.id, decide, audit),
      );
      if (after === undefined) throw new EdgeError("FleetNotFound");
      if (after === "name_taken") throw new EdgeError("FleetExists", undefined, { fleet: name });
      fleets.wake();
      return sendResource(reply, await readFleet(store, after));
    },
  );
}

/** `DELETE /v1/fleets/{fleet}`: removes a fleet; its apps stay on the devices. */
export function removeFleet(api: Api, { store, clock, fleets }: ApiContext<"fleets">): void {
  api.delete(
    "/v1/fleets/:fleet",
    {
      schema: {
        operationId: "removeFleet",
        summary: "Remove Fleet",
        description:
          "Removes the fleet with its revisions and rollouts. All apps stay on the devices as they are, and belong to no fleet. " +
          "Deployments under way end first.",
        tags: TAGS,
        params: fleetParams,
        headers: ifMatchHeaders,
        response: {
          204: z.undefined().meta({ description: "The fleet was removed." }),
          ...errorsWithBody("FleetNotFound", "PreconditionFailed"),
        },
      },
    },
    async (request, reply) => {
      const fleet = await findFleet(store, request);
      const audit = auditOf(request, clock, { action: "fleet.removed", subject: fleetSubjectOf(fleet) });
      const precondition = preconditionOf(request, fleetState);
      const isRemoved = await changeResource(
        reply,
        () => presentFleet(store, fleet.id),
        () => store.fleets.removeFleet(fleet.id, audit, precondition),
      );
      if (!isRemoved) throw new EdgeError("FleetNotFound");
      fleets.wake();
      return reply.code(204).send();
    },
  );
}

async function readFleet(store: Store, fleet: Fleet): Promise<Resource<FleetBody>> {
  const members = await store.fleets.countMatching(fleet.accountId, termsOfSelector(fleet.selector));
  const counts = { members, owned_assets: await store.fleets.countOwned(fleet.id) };
  return { state: fleetState(fleet), body: { ...(await toFleetItem(store, fleet)), ...counts } };
}

/** Reads the fleet also if it has another name meanwhile. Error: `FleetNotFound`. */
async function presentFleet(store: Store, id: string): Promise<Resource<FleetBody>> {
  const fleet = await store.fleets.findFleetById(id);
  if (!fleet) throw new EdgeError("FleetNotFound");
  return readFleet(store, fleet);
}

/** Revisions and rollouts are resources of their own. */
function fleetState({ id, name, selector, apps, strategy, onDrift, pausedReason }: Fleet): string {
  return stateOf(id, name, selector, apps, strategy, onDrift, pausedReason);
}

/** Names have no characters that a database refuses. */
function nameOfCursor(cursor: string): string {
  return decodeCursor(cursor).replaceAll("\0", "");
}
