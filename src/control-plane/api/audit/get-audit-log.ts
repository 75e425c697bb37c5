import {
  type AuditEntryBody,
  type AuditLog,
  auditLogSchema,
  auditQuerySchema,
} from "../../../protocol/people/audit.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { isUuid } from "../../../protocol/values/scalars.ts";
import { actionsNamed } from "../../core/people/audit-actions.ts";
import { decodeAuditCursor, encodeAuditCursor } from "../../core/cursor.ts";
import type { StoredAuditEntry } from "../../store/audit.ts";
import type { Store } from "../../store/store.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";

/** `GET /v1/audit`: the account's audit log, page by page, newest first. */
export function getAuditLog(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/audit",
    {
      schema: {
        operationId: "getAuditLog",
        summary: "Get Audit Log",
        description:
          "Who did what, when, from where, on what and with which outcome, newest first. Each change has an entry, and so has " +
          "an attempt that was refused; repeated attempts within 10 minutes are one entry with `details.count`. Entries are kept " +
          "for 400 days. docs/people.md lists the actions.",
        tags: ["Audit"],
        querystring: auditQuerySchema,
        response: { 200: json("One page of entries.", auditLogSchema), ...errors() },
      },
    },
    async (request): Promise<AuditLog> => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, actor, action, asset, outcome, since, until } = request.query;
      const accountId = accountOf(request);
      const after = cursor === undefined ? undefined : decodeAuditCursor(cursor);
      const filter = {
        actorId: actor,
        actions: action === undefined ? undefined : requireActions(action),
        assetUuid: asset === undefined ? undefined : await findUuid(store, accountId, asset),
        since,
        until,
        outcome,
      };
      // One more than the page holds shows whether there is another page.
      const found = await store.audit.listEntries(accountId, limit + 1, filter, after);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return { entries: page.map(toBody), next_cursor: last ? encodeAuditCursor(last) : null };
    },
  );
}

/** Error: `InvalidRequest`, rather than an empty list for a name with a typing error. */
function requireActions(name: string) {
  const actions = actionsNamed(name);
  if (actions.length > 0) return actions;
  throw invalidRequest([{ path: "action", reason: "is not an action of the audit log, nor the beginning of one" }]);
}

/** An asset that was removed is found by its UUID, and so is nothing of another account. */
async function findUuid(store: Pick<Store, "assets">, accountId: string, identifier: string): Promise<string> {
  const asset = await store.assets.findAsset(accountId, identifier);
  return asset?.uuid ?? (isUuid(identifier) ? identifier.toLowerCase() : identifier);
}

function toBody({ id, actor, assetUuid, app, subject, source, ...entry }: StoredAuditEntry): AuditEntryBody {
  const { at, action, outcome, details } = entry;
  return {
    id: String(id),
    timestamp: at,
    actor: { kind: actor.kind, id: actor.id, ...(actor.name !== undefined && { name: actor.name }) },
    source: source ?? null,
    action,
    asset_id: assetUuid === "" ? null : assetUuid,
    app: app === "" ? null : app,
    subject: subject
      ? { kind: subject.kind, id: subject.id, ...(subject.name !== undefined && { name: subject.name }) }
      : null,
    outcome,
    details: { ...details },
  };
}
