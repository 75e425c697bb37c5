import { z } from "zod";
import { MAX_APPLY_BYTES } from "../../../protocol/apps/apply.ts";
import {
  type RevisionBody,
  type RevisionDetails,
  revisionDetailsSchema,
  type RevisionDiff,
  revisionDiffSchema,
  type RevisionList,
  revisionListSchema,
  revisionRequestSchema,
  revisionSchema,
} from "../../../protocol/fleets/revision.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { pageQuerySchema } from "../../../protocol/people/users.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import { diffRevisions } from "../../core/fleets/compare-apps.ts";
import type { Revision, RevisionContent } from "../../core/fleets/fleet.ts";
import { maskDeclaredSecrets, maskSpec } from "../../core/mask-spec.ts";
import { openContent } from "../../fleets/revision-content.ts";
import { principalFields } from "../../accounts/principal.ts";
import { principalOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { findFleet, fleetParams, requesterOf } from "./fleet-resource.ts";
import { findRevision, revisionNumber, revisionParams, toRevisionBody } from "./revision-resource.ts";

const TAGS = ["Fleets"];

/** `GET /v1/fleets/{fleet}/revisions`: the revisions of a fleet, newest first. */
export function listRevisions(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/fleets/:fleet/revisions",
    {
      schema: {
        operationId: "listRevisions",
        summary: "Get Revisions",
        description: "The revisions of the fleet, newest first. Old ones that nothing uses are removed.",
        tags: TAGS,
        params: fleetParams,
        querystring: pageQuerySchema,
        response: {
          200: json("One page of revisions.", revisionListSchema),
          ...errors("FleetNotFound"),
        },
      },
    },
    async (request): Promise<RevisionList> => {
      const fleet = await findFleet(store, request);
      const { limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const below = cursor === undefined ? undefined : numberOfCursor(cursor);
      const found = await store.fleets.listRevisions(fleet.id, limit + 1, below);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return { revisions: page.map(toRevisionBody), next_cursor: last ? encodeCursor(String(last.number)) : null };
    },
  );
}

/** `POST /v1/fleets/{fleet}/revisions`: makes the next revision of a fleet. */
export function createRevision(api: Api, context: ApiContext<"accounts" | "fleets">): void {
  const { store, fleets } = context;
  api.post(
    "/v1/fleets/:fleet/revisions",
    {
      bodyLimit: MAX_APPLY_BYTES,
      schema: {
        operationId: "createRevision",
        summary: "Create Revision",
        description:
          "Makes the next revision of the fleet, which never changes. Tags of images are resolved to digests now. If the newest " +
          "revision has the same content, the response is that one. Nothing reaches a device before it is rolled out. `agent` takes the " +
          "permission `agents.update`.",
        tags: TAGS,
        params: fleetParams,
        body: revisionRequestSchema,
        response: {
          200: json("The newest revision, which has this content already.", revisionSchema),
          201: json("The new revision.", revisionSchema),
          ...errorsWithBody("FleetNotFound", "ImageNotResolved", "AgentReleaseNotFound"),
        },
      },
    },
    async (request, reply): Promise<RevisionBody> => {
      const fleet = await findFleet(store, request);
      const signal = streamSignal(request, reply, context);
      const { revision, isNew } = await fleets.makeRevision(fleet, request.body, requesterOf(request), signal);
      void reply.code(isNew ? 201 : 200);
      return toRevisionBody(revision);
    },
  );
}

const query = z.strictObject({
  reveal: z
    .literal("environments")
    .optional()
    .meta({ description: "Includes the values of environments. Declared secrets stay masked." }),
});

/** `GET /v1/fleets/{fleet}/revisions/{number}`: one revision with its apps. */
export function getRevision(api: Api, { store, sealer, logger }: ApiContext<"sealer">): void {
  api.get(
    "/v1/fleets/:fleet/revisions/:number",
    {
      schema: {
        operationId: "getRevision",
        summary: "Revision Details",
        description: "The apps of the revision, as they are brought to members.",
        tags: TAGS,
        params: revisionParams,
        querystring: query,
        response: {
          200: json("The revision.", revisionDetailsSchema),
          ...errors("FleetNotFound", "RevisionNotFound"),
        },
      },
    },
    async (request): Promise<RevisionDetails> => {
      const fleet = await findFleet(store, request);
      const { number } = request.params;
      const stored = await findRevision(store, fleet, number);
      const isRevealed = request.query.reveal !== undefined;
      if (isRevealed) {
        const who = principalFields(principalOf(request));
        logger.info({ fleet: fleet.id, revision: number, ...who }, "environment of a revision revealed");
      }
      return { ...toRevisionBody(stored.revision), entries: toEntries(openContent(sealer, stored), isRevealed) };
    },
  );
}

/** `GET /v1/fleets/{fleet}/revisions/{number}/diff/{other}`: what differs between two revisions. */
export function diffRevision(api: Api, { store, sealer }: ApiContext<"sealer">): void {
  api.get(
    "/v1/fleets/:fleet/revisions/:number/diff/:other",
    {
      schema: {
        operationId: "diffRevisions",
        summary: "Compare Revisions",
        description: "The apps and fields that differ between two revisions. Values are not in the response.",
        tags: TAGS,
        params: z.object({
          ...revisionParams.shape,
          other: revisionNumber.meta({ description: "Number of the revision to compare it with." }),
        }),
        response: {
          200: json("What differs.", revisionDiffSchema),
          ...errors("FleetNotFound", "RevisionNotFound"),
        },
      },
    },
    async (request): Promise<RevisionDiff> => {
      const fleet = await findFleet(store, request);
      const { number: from, other: to } = request.params;
      const [before, after] = [await findRevision(store, fleet, from), await findRevision(store, fleet, to)];
      return {
        from,
        to,
        apps: [...diffRevisions(openContent(sealer, before), openContent(sealer, after))],
        agent: diffAgents(before.revision, after.revision),
      };
    },
  );
}

function toEntries({ apps }: RevisionContent, isRevealed: boolean): RevisionDetails["entries"] {
  return apps.map((entry) => {
    if ("absent" in entry) return { name: entry.absent, absent: true };
    const app = isRevealed ? maskDeclaredSecrets(entry.app) : maskSpec(entry.app);
    return { app, depends_on: entry.depends_on };
  });
}

function diffAgents(
  { agentVersion: from }: Pick<Revision, "agentVersion">,
  { agentVersion: to }: Pick<Revision, "agentVersion">,
): RevisionDiff["agent"] {
  return from === to ? null : { from: from ?? null, to: to ?? null };
}

function numberOfCursor(cursor: string): number {
  const parsed = revisionNumber.safeParse(decodeCursor(cursor));
  if (!parsed.success) throw invalidCursor();
  return parsed.data;
}
