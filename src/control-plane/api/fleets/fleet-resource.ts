import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { FleetListItem } from "../../../protocol/fleets/fleet.ts";
import type { RolloutStrategyUpdate } from "../../../protocol/fleets/rollout-strategy.ts";
import { formatSelector, parseSelector } from "../../../protocol/fleets/selector.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import type { Requester } from "../../fleets/make-revision.ts";
import type { AuditEntry } from "../../store/audit.ts";
import type { Store } from "../../store/store.ts";
import { originOf } from "../audit/audit-of.ts";
import { accountOf, personOf } from "../auth.ts";
import { requireAgentUpdates, requirePermissionFor } from "../people/require-permission.ts";

/** Path parameter of every endpoint of one fleet. */
export const fleetParams = z.object({ fleet: z.string().meta({ description: "Name of the fleet." }) });

/** Finds a fleet of the account. Error: `FleetNotFound`. */
export async function findFleet(
  { fleets }: Pick<Store, "fleets">,
  request: FastifyRequest<{ Params: { fleet: string } }>,
): Promise<Fleet> {
  const { fleet: name } = request.params;
  // No name has one, and databases refuse it.
  const fleet = name.includes("\0") ? undefined : await fleets.findFleet(accountOf(request), name);
  if (!fleet) throw new EdgeError("FleetNotFound");
  return fleet;
}

export function fleetSubjectOf({ id, name }: Pick<Fleet, "id" | "name">): AuditEntry["subject"] {
  return { kind: "fleet", id, name };
}

/** Returns a valid selector in its canonical form. */
export function canonicalSelector(text: string): string {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw new Error(`a selector was not validated: ${parsed.reason}`);
  return formatSelector(parsed.terms);
}

/** Whether what a request says of the strategy would have rollouts start without the approval that the fleet requires. */
export function waivesApproval(fleet: Pick<Fleet, "strategy">, update: RolloutStrategyUpdate | undefined): boolean {
  return fleet.strategy.requires_approval && update?.requires_approval === false;
}

/** Error: `Forbidden`. */
export function requireWaiver(request: FastifyRequest): void {
  requirePermissionFor(request, "fleets.waive_approval", "strategy.requires_approval");
}

/** A rollout of a revision that updates agents takes the permission for that, also if another person has made the revision. Error: `Forbidden`. */
export async function requireAgentUpdatesOf(
  request: FastifyRequest,
  store: Pick<Store, "accounts" | "fleets">,
  { id }: Pick<Fleet, "id">,
  number: number,
): Promise<void> {
  const stored = await store.fleets.findRevision(id, number);
  if (stored?.revision.agentVersion !== undefined) await requireAgentUpdates(store, request, "revision");
}

export function requesterOf(request: FastifyRequest): Requester {
  return { person: personOf(request), origin: originOf(request) };
}

/** Returns the fleet as clients see it, with its newest rollout and its members by state. */
export async function toFleetItem(
  { rollouts, members }: Pick<Store, "rollouts" | "members">,
  fleet: Fleet,
): Promise<FleetListItem> {
  const [latest] = await rollouts.listRollouts(fleet.id, 1);
  return {
    id: fleet.id,
    name: fleet.name,
    selector: fleet.selector,
    apps: [...fleet.apps],
    strategy: fleet.strategy,
    on_drift: fleet.onDrift,
    stable_revision: fleet.stableRevision ?? null,
    last_revision: fleet.lastRevision,
    paused_reason: fleet.pausedReason ?? null,
    latest_rollout: latest ? { id: latest.id, revision: latest.revision, state: latest.state } : null,
    states: Object.fromEntries(await members.countStates(fleet.id)),
    created_at: Math.floor(fleet.createdAtMs / 1000),
  };
}
