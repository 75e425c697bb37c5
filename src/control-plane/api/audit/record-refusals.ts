import type { FastifyReply, FastifyRequest } from "fastify";
import { EdgeError, type ErrorCode } from "../../../protocol/errors/errors.ts";
import { auditEntry } from "../../accounts/audit-entry.ts";
import { actionOf } from "../../core/people/endpoint-actions.ts";
import type { ApiBase, ApiContext } from "../context.ts";
import { errorStatus } from "../errors.ts";
import { originOf } from "./audit-of.ts";

/** Refusals besides those with the status 403 or 409. */
const OTHER_REFUSALS: ReadonlySet<ErrorCode> = new Set(["QuotaExceeded", "IdempotencyKeyReused"]);

interface Parameters {
  readonly asset_id?: string;
  readonly name?: string;
}

/** Returns a hook that writes attempts to the audit log which are refused for want of a permission, or for a conflict. */
export function recordRefusals({ store, clock, accounts }: ApiContext<"accounts">) {
  return async (request: FastifyRequest, _reply: FastifyReply, error: unknown): Promise<void> => {
    if (!request.principal || !(error instanceof EdgeError) || !isRefusal(error.code)) return;
    const { method, routeOptions } = request;
    const path = routeOptions.url ?? "";
    const action = actionOf(method, path);
    const origin = originOf(request);
    const { asset_id: identifier, name } = (request.params ?? {}) as Parameters;
    // As far as it is one of the account: nothing is said about others.
    const asset = identifier === undefined ? undefined : await findAsset(store, origin.accountId, identifier);
    const permission = error.code === "Forbidden" ? error.details?.["permission"] : undefined;
    const entry = auditEntry(origin, clock, {
      action: action ?? "access.refused",
      outcome: error.code,
      ...(asset && { assetUuid: asset.uuid }),
      ...(name !== undefined && path.includes("/edge/apps/") && { app: name }),
      details: { permission, ...(action === undefined && { method, endpoint: path }) },
    });
    await accounts.refusals.record(entry);
  };
}

/** The attempt is recorded without its asset if the store cannot say which it is. */
async function findAsset(store: ApiBase["store"], accountId: string, identifier: string) {
  return store.assets.findAsset(accountId, identifier).catch(() => undefined);
}

function isRefusal(code: ErrorCode): boolean {
  const status = errorStatus(code);
  return status === 403 || status === 409 || OTHER_REFUSALS.has(code);
}
