import { z } from "zod";
import {
  loginKeySchema,
  pendingLoginSchema,
  type StartedLogin,
  startedLoginSchema,
} from "../../protocol/people/login-request.ts";
import { type ApiClient, apiPath } from "./client.ts";
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

const auditEntrySchema = z.looseObject({
  id: z.string(),
  at: z.number(),
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

interface Position {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface AuditQuery extends Position {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly asset?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface KeyCreation {
  readonly name: string;
  readonly role?: string | undefined;
  readonly expires_at?: number | undefined;
  readonly permissions?: readonly string[] | undefined;
}

export function listKeys(client: ApiClient, position: Position) {
  return client.json({ path: apiPath("v1", "api-keys"), query: { ...position } }, keyPageSchema);
}

export function createKey(client: ApiClient, body: KeyCreation) {
  return client.json({ method: "POST", path: apiPath("v1", "api-keys"), body }, createdKeySchema);
}

export function revokeKey(client: ApiClient, id: string, signal: AbortSignal): Promise<void> {
  return remove(client, apiPath("v1", "api-keys", id), signal);
}

export function listUsers(client: ApiClient, position: Position) {
  return client.json({ path: apiPath("v1", "users"), query: { ...position } }, userPageSchema);
}

export function inviteUser(
  client: ApiClient,
  body: { readonly email: string; readonly name?: string; readonly role: string },
) {
  return client.json({ method: "POST", path: apiPath("v1", "users"), body }, invitedSchema);
}

export function setUserRole(client: ApiClient, id: string, role: string): Promise<User> {
  return client.json({ method: "PATCH", path: apiPath("v1", "users", id), body: { role } }, userSchema);
}

export function resetUser(client: ApiClient, id: string) {
  return client.json({ method: "POST", path: apiPath("v1", "users", id, "reset") }, resetSchema);
}

export function removeUser(client: ApiClient, id: string, signal: AbortSignal): Promise<void> {
  return remove(client, apiPath("v1", "users", id), signal);
}

export function listAudit(client: ApiClient, query: AuditQuery) {
  return client.json({ path: apiPath("v1", "audit"), query: { ...query } }, auditPageSchema);
}

export function startLogin(client: ApiClient, clientName: string): Promise<StartedLogin> {
  const body = { client_name: clientName };
  return client.json({ method: "POST", path: apiPath("v1", "device-logins"), body }, startedLoginSchema);
}

export function fetchLoginKey(client: ApiClient, deviceCode: string) {
  const request = {
    method: "POST",
    path: apiPath("v1", "device-logins", "token"),
    body: { device_code: deviceCode },
  } as const;
  return client.json(request, z.union([loginKeySchema, pendingLoginSchema]));
}

async function remove(client: ApiClient, path: string, signal: AbortSignal): Promise<void> {
  const response = await client.send({ method: "DELETE", path }, signal);
  const text = await client.text(response);
  if (!response.ok) throw toServiceFailure(response, text);
}
