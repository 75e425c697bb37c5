import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../../lib/clock.ts";
import type { AuditEntry } from "../../store/audit.ts";
import type { Precondition } from "../../store/precondition.ts";
import { accountOf } from "../auth.ts";
import { changeResource, preconditionOf, type Resource, sendResource } from "../conditional-requests.ts";
import { auditOf } from "../audit/audit-of.ts";

/** A setting of an account that is a resource of its own. */
export interface AccountSetting<T, Body> {
  readonly read: (accountId: string) => Promise<T>;
  readonly set: (accountId: string, value: T, audit: AuditEntry, precondition?: Precondition<T>) => Promise<void>;
  readonly toResource: (value: T) => Resource<Body>;
}

/**
 * Changes a setting to what the body says, with an entry in the audit log, and returns it as it is then. Error:
 * `PreconditionFailed`.
 *
 * @param details the body of the request, which is the entry's too
 */
export async function changeSetting<T, Body>(
  request: FastifyRequest,
  reply: FastifyReply,
  clock: Clock,
  { read, set, toResource }: AccountSetting<T, Body>,
  { value, details }: { readonly value: T; readonly details: Readonly<Record<string, string | boolean>> },
): Promise<Body> {
  const accountId = accountOf(request);
  const changed = { fields: Object.keys(details), ...details };
  const entry = auditOf(request, clock, { action: "settings.changed", details: changed });
  const present = async () => toResource(await read(accountId));
  const precondition = preconditionOf(request, (current: T) => toResource(current).state);
  await changeResource(reply, present, () => set(accountId, value, entry, precondition));
  return sendResource(reply, toResource(value));
}
