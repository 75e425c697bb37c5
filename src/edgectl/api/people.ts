import { z } from "zod";
import {
  loginKeySchema,
  pendingLoginSchema,
  type StartedLogin,
  startedLoginSchema,
} from "../../protocol/people/login-request.ts";
import type { ApiClient } from "./client.ts";
import { type ApiRequest, type BodyOf, type QueryOf, requestOf } from "./request.ts";
import { toServiceFailure } from "./service-failure.ts";
import { anyObject } from "../../protocol/values/scalars.ts";

const keySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  role: z.string(),
  permissions: z.array(z.string()),
  created_at: z.number(),
  created_by: z.string().nullable(),
  expires_at: z.number().nullable(),
  last_used_at: z.number().nullable(),
  // Absent from services before they say it.
  belongs_to: z.string().optional(),
  revoked_at: z.number().nullable(),
});
export type Key = z.output<typeof keySchema>;
const keyPageSchema = z.looseObject({ api_keys: z.array(keySchema), next_cursor: z.string().nullable() });
const createdKeySchema = z.looseObject({ key: keySchema, api_key: z.string() });

const userSchema = z.looseObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.string(),
  state: z.string(),
  sign_in: z.string(),
  created_at: z.number(),
  last_sign_in_at: z.number().nullable(),
});
export type User = z.output<typeof userSchema>;
const userPageSchema = z.looseObject({ users: z.array(userSchema), next_cursor: z.string().nullable() });
const linkSchema = z.looseObject({ link: z.string(), expires_at: z.number() });
const invitedSchema = z.looseObject({
  user: userSchema,
  invitation: linkSchema,
  role_decided_by: z.string().nullable().optional(),
});
const resetSchema = z.looseObject({ reset: linkSchema });

const sessionSchema = z.looseObject({
  principal: z.looseObject({ kind: z.string(), id: z.string(), name: z.string(), email: z.string().optional() }),
  account: z.looseObject({ id: z.string(), name: z.string() }),
  role: z.string(),
  permissions: z.array(z.string()),
  expires_at: z.number().nullable(),
});

const auditEntrySchema = z.looseObject({
  id: z.string(),
  timestamp: z.number(),
  actor: z.looseObject({ kind: z.string(), id: z.string(), name: z.string().optional() }),
  source: z.string().nullable(),
  action: z.string(),
  asset_id: z.string().nullable(),
  app: z.string().nullable(),
  subject: z.looseObject({ kind: z.string(), id: z.string(), name: z.string().optional() }).nullable(),
  outcome: z.string(),
  details: anyObject,
});
export type AuditEntry = z.output<typeof auditEntrySchema>;
const auditPageSchema = z.looseObject({ entries: z.array(auditEntrySchema), next_cursor: z.string().nullable() });

/** Who the requests act as, and what they may do. */
export function getSession(client: ApiClient) {
  return client.json(requestOf("GET /v1/session"), sessionSchema);
}

export function listKeys(client: ApiClient, query: QueryOf<"GET /v1/api-keys">) {
  return client.json(requestOf("GET /v1/api-keys", { query }), keyPageSchema);
}

export function createKey(client: ApiClient, body: BodyOf<"POST /v1/api-keys">) {
  return client.json(requestOf("POST /v1/api-keys", { body }), createdKeySchema);
}

export function revokeKey(client: ApiClient, id: string, signal: AbortSignal): Promise<void> {
  return remove(client, requestOf("DELETE /v1/api-keys/{key_id}", { path: { key_id: id } }), signal);
}

export function listUsers(client: ApiClient, query: QueryOf<"GET /v1/users">) {
  return client.json(requestOf("GET /v1/users", { query }), userPageSchema);
}

export function inviteUser(client: ApiClient, body: BodyOf<"POST /v1/users">) {
  return client.json(requestOf("POST /v1/users", { body }), invitedSchema);
}

export function setUserRole(client: ApiClient, id: string, role: string): Promise<User> {
  return client.json(requestOf("PATCH /v1/users/{user_id}", { path: { user_id: id }, body: { role } }), userSchema);
}

export function resetUser(client: ApiClient, id: string) {
  return client.json(requestOf("POST /v1/users/{user_id}/reset", { path: { user_id: id } }), resetSchema);
}

export function removeUser(client: ApiClient, id: string, signal: AbortSignal): Promise<void> {
  return remove(client, requestOf("DELETE /v1/users/{user_id}", { path: { user_id: id } }), signal);
}

export function listAudit(client: ApiClient, query: QueryOf<"GET /v1/audit">) {
  return client.json(requestOf("GET /v1/audit", { query }), auditPageSchema);
}

export function startLogin(client: ApiClient, clientName: string): Promise<StartedLogin> {
  return client.json(requestOf("POST /v1/device-logins", { body: { client_name: clientName } }), startedLoginSchema);
}

export function fetchLoginKey(client: ApiClient, deviceCode: string) {
  const request = requestOf("POST /v1/device-logins/token", { body: { device_code: deviceCode } });
  return client.json(request, z.union([loginKeySchema, pendingLoginSchema]));
}

async function remove(client: ApiClient, request: ApiRequest, signal: AbortSignal): Promise<void> {
  const response = await client.send(request, signal);
  const text = await client.text(response);
  if (!response.ok) throw toServiceFailure(response, text);
}
