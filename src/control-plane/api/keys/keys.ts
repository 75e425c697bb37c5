import { z } from "zod";
import { keySubject } from "../../accounts/access-watcher.ts";
import { unixNow } from "../../../lib/clock.ts";
import {
  type ApiKeyBody,
  apiKeyCreationSchema,
  type ApiKeyList,
  apiKeyListSchema,
  apiKeySchema,
  apiKeyUpdateSchema,
  type CreatedApiKey,
  createdApiKeySchema,
} from "../../../protocol/people/api-keys.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { pageQuerySchema } from "../../../protocol/people/users.ts";
import { KEY_BOUNDS } from "../../core/people/key-limits.ts";
import { createId, createSecret, hashSecret } from "../../accounts/secrets.ts";
import type { ApiKey } from "../../store/accounts.ts";
import { accountOf, principalOf } from "../auth.ts";
import { changeResource, ifMatchHeaders, preconditionOf, sendResource } from "../conditional-requests.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { ENTITY_TAG_HEADERS, errors, errorsWithBody, json } from "../docs/responses.ts";
import { pageOf } from "../page.ts";
import type { AuditFacts } from "../../accounts/audit-entry.ts";
import { auditOf } from "../audit/audit-of.ts";
import {
  findKey,
  keyParams,
  keyState,
  keySubjectOf,
  makerOf,
  requireFuture,
  requireNoLaterThan,
  toKeyBody,
  toKeyResource,
} from "./key-resource.ts";

/** `GET /v1/api-keys`: the API keys of the account, oldest first. */
export function listKeys(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/api-keys",
    {
      schema: {
        operationId: "listApiKeys",
        summary: "Get API Keys",
        description:
          "The API keys of the account in order of creation, oldest first, with those that were revoked last. The keys " +
          "themselves are not stored.",
        tags: ["API Keys"],
        querystring: pageQuerySchema,
        response: { 200: json("One page of keys.", apiKeyListSchema), ...errors() },
      },
    },
    async (request): Promise<ApiKeyList> => {
      const { items, nextCursor } = pageOf(await store.keys.listKeys(accountOf(request)), request.query);
      return { api_keys: items.map(toKeyBody), next_cursor: nextCursor };
    },
  );
}

/** `GET /v1/api-keys/{key_id}`: one API key. */
export function getKey(api: Api, context: ApiBase): void {
  api.get(
    "/v1/api-keys/:key_id",
    {
      schema: {
        operationId: "getApiKey",
        summary: "API Key Details",
        description: "One API key of the account, also if it is revoked. The key itself is not stored.",
        tags: ["API Keys"],
        params: keyParams,
        response: { 200: json("The key.", apiKeySchema), ...errors("KeyNotFound") },
      },
    },
    async (request, reply): Promise<ApiKeyBody> => sendResource(reply, toKeyResource(await findKey(context, request))),
  );
}

/** `POST /v1/api-keys`: creates an API key, which is not shown again. */
export function createKey(api: Api, { store, clock, observer }: ApiBase): void {
  api.post(
    "/v1/api-keys",
    {
      schema: {
        operationId: "createApiKey",
        summary: "Create API Key",
        description:
          "Creates an API key with a role, `operator` by default. The response contains the key, which is shown only once. A key " +
          "that is made with another key ends no later than that, by time and by revocation. One that is made in a session is " +
          "revoked with the access of its person unless it belongs to the account.",
        tags: ["API Keys"],
        body: apiKeyCreationSchema,
        response: {
          201: json("The key.", createdApiKeySchema, ENTITY_TAG_HEADERS),
          ...errorsWithBody("QuotaExceeded"),
        },
      },
    },
    async (request, reply): Promise<CreatedApiKey> => {
      const { name, role, permissions, belongs_to } = request.body;
      const principal = principalOf(request);
      const { accountId } = principal;
      const expiresAt = request.body.expires_at ?? (principal.kind === "key" ? principal.expiresAt : undefined);
      requireFuture(clock, request.body.expires_at);
      requireNoLaterThan(principal, expiresAt);
      const secret = createSecret("ek_");
      const key: ApiKey = {
        id: createId("key_"),
        accountId,
        name,
        createdAt: unixNow(clock),
        lastUsedAt: undefined,
        revokedAt: undefined,
        permissions: [...new Set(permissions)],
        role,
        expiresAt,
        ...makerOf(principal, belongs_to),
      };
      const bound = { belongs_to: key.isPersonal ? "person" : "account" };
      const details = { role, permissions: key.permissions, expires_at: expiresAt, ...bound };
      const audit = auditOf(request, clock, { action: "key.created", subject: keySubjectOf(key), details });
      const session = principal.kind === "user" ? principal.sessionHash : undefined;
      const result = await store.keys.createKey(key, hashSecret(secret), audit, KEY_BOUNDS, session);
      if (result === "maker_ended") throw new EdgeError("Unauthorized");
      if (result === "too_many") throw tooManyKeys(observer);
      void reply.code(201);
      return { key: sendResource(reply, toKeyResource(key)), api_key: secret };
    },
  );
}

/** `PATCH /v1/api-keys/{key_id}`: renames an API key, or changes when it expires. */
export function updateKey(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, observer, accounts } = context;
  api.patch(
    "/v1/api-keys/:key_id",
    {
      schema: {
        operationId: "updateApiKey",
        summary: "Update API Key",
        description:
          "Changes the name, or when the key expires; one that has expired is valid again then. No key prolongs itself, or another " +
          "one beyond its own end. Keys that it has made end no later than it does. The role cannot be changed: create another key.",
        tags: ["API Keys"],
        params: keyParams,
        headers: ifMatchHeaders,
        body: apiKeyUpdateSchema,
        response: {
          200: json("The key.", apiKeySchema),
          ...errorsWithBody("KeyNotFound", "QuotaExceeded", "PreconditionFailed"),
        },
      },
    },
    async (request, reply): Promise<ApiKeyBody> => {
      const { id, accountId, ...key } = await findKey(context, request);
      const { name, expires_at: expiresAt } = request.body;
      if (name === undefined && expiresAt === undefined)
        throw invalidRequest([{ path: "", reason: "nothing to update; give at least one of name and expires_at" }]);
      requireFuture(clock, expiresAt);
      if (expiresAt !== undefined) requireNoLaterThan(principalOf(request), expiresAt ?? undefined);
      const facts: AuditFacts = {
        action: "key.changed",
        subject: keySubjectOf({ id, name: key.name }),
        details: request.body,
      };
      const audit = auditOf(request, clock, facts);
      const renewal = { at: unixNow(clock), bounds: KEY_BOUNDS };
      const precondition = preconditionOf(request, keyState);
      const changed = await changeResource(
        reply,
        async () => toKeyResource(await findKey(context, request)),
        () => store.keys.changeKey(accountId, id, { name, expiresAt }, audit, renewal, precondition),
      );
      if (changed === "too_many") throw tooManyKeys(observer);
      if (!changed) throw new EdgeError("KeyNotFound");
      // Open streams learn when they are to end.
      await accounts.access.recheck(keySubject(id));
      return sendResource(reply, toKeyResource(changed));
    },
  );
}

/** `DELETE /v1/api-keys/{key_id}`: revokes an API key. */
export function revokeKey(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, accounts } = context;
  api.delete(
    "/v1/api-keys/:key_id",
    {
      schema: {
        operationId: "revokeApiKey",
        summary: "Revoke API Key",
        description:
          "The key is refused from now on, and so is every key that was made with it, also the one of the request; the audit log " +
          "says how many. Open streams end. Has no further effect when repeated.",
        tags: ["API Keys"],
        params: keyParams,
        headers: ifMatchHeaders,
        response: {
          204: z.undefined().meta({ description: "The key is revoked." }),
          ...errorsWithBody("KeyNotFound", "PreconditionFailed"),
        },
      },
    },
    async (request, reply) => {
      const key = await findKey(context, request);
      const audit = auditOf(request, clock, { action: "key.revoked", subject: keySubjectOf(key) });
      const precondition = preconditionOf(request, keyState);
      await changeResource(
        reply,
        async () => toKeyResource(await findKey(context, request)),
        () => store.keys.revokeKey(key.id, unixNow(clock), audit, precondition),
      );
      await accounts.access.recheck(keySubject(key.id));
      return reply.code(204).send();
    },
  );
}

function tooManyKeys(observer: ApiBase["observer"]): EdgeError {
  observer?.bounded("keys_per_account");
  const { maxKeys } = KEY_BOUNDS;
  const facts = { quota: "api_keys", used: maxKeys, limit: maxKeys };
  return new EdgeError("QuotaExceeded", "The account has reached its limit of API keys; revoke unused ones.", facts);
}
