import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Role, ROLES } from "../../../src/control-plane/core/people/roles.ts";
import { PasswordHasher } from "../../../src/control-plane/accounts/password-hasher.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { QUICK_HASH } from "../../support/control-plane/people.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { startHeldRollout } from "../../support/fleets/held-rollout.ts";
import { readDocument } from "../../support/openapi/read-document.ts";
import { groupAlert, openAlert, silence } from "../../support/alerts/open-alert.ts";
import { type SampleRequest, sampleRequests } from "../../support/openapi/sample-requests.ts";

/** Who may call an operation: principals from this role on, any principal, a person who is signed in, or everybody. */
type Lowest = Role | "self" | "session" | "public";

interface Expected {
  readonly from: Lowest;
  /** Status for those who may. Devices are not connected. */
  readonly ok: number;
  /** Status for an admin of another account. */
  readonly foreign: number;
}

const row = (from: Lowest, ok: number, foreign: number = ok): Expected => ({ from, ok, foreign });

/** What every operation of the document answers. Kept by hand: nothing of it comes from the service. */
const EXPECTED: Readonly<Record<string, Expected>> = {
  "GET /v1/assets": row("viewer", 200),
  "POST /v1/assets": row("installer", 201),
  "POST /v1/bulk/assets": row("installer", 200),
  "POST /v1/bulk/tags": row("operator", 200),
  "GET /v1/assets/{asset_id}": row("viewer", 200, 404),
  "PATCH /v1/assets/{asset_id}": row("operator", 200, 404),
  "DELETE /v1/assets/{asset_id}": row("admin", 204, 404),
  "GET /v1/assets/{asset_id}/sims/{sim_type}/usages": row("viewer", 200, 404),
  "GET /v1/sims": row("viewer", 200),
  "GET /v1/usages": row("viewer", 200),
  "GET /v1/assets/{asset_id}/connectivity": row("viewer", 200, 404),
  "GET /v1/assets/{asset_id}/uptime": row("viewer", 200, 404),
  "GET /v1/uptime": row("viewer", 200),
  "GET /v1/metrics/devices": row("viewer", 200),
  "GET /v1/assets/{asset_id}/health": row("viewer", 200, 404),
  "GET /v1/assets/{asset_id}/sims": row("viewer", 200, 404),
  "POST /v1/assets/{asset_id}/sims/{sim_type}/refresh": row("operator", 200, 404),
  "GET /v1/assets/{asset_id}/sims/{sim_type}/allowance": row("viewer", 404),
  "PUT /v1/assets/{asset_id}/sims/{sim_type}/allowance": row("operator", 200, 404),
  "DELETE /v1/assets/{asset_id}/sims/{sim_type}/allowance": row("operator", 204, 404),
  "GET /v1/data-plan-settings": row("viewer", 200),
  "PATCH /v1/data-plan-settings": row("admin", 200),
  "GET /assets/{asset_id}/sim/usages": row("viewer", 200, 404),
  "GET /v1/assets/{asset_id}/sim/usages": row("viewer", 200, 404),
  "PATCH /assets/{asset_id}/sim": row("operator", 200, 404),
  "PATCH /v1/assets/{asset_id}/sim": row("operator", 200, 404),
  "POST /v1/assets/{asset_id}/enrolment-codes": row("installer", 201, 404),
  "POST /v1/assets/{asset_id}/accept": row("operator", 200, 404),
  "GET /v1/enrolment-settings": row("viewer", 200),
  "PATCH /v1/enrolment-settings": row("admin", 200),
  "GET /v1/network-groups": row("viewer", 200),
  "GET /v1/agent-releases": row("viewer", 200),
  "GET /v1/agent-settings": row("viewer", 200),
  "PATCH /v1/agent-settings": row("admin", 200),
  "GET /v1/alerts": row("viewer", 200),
  "POST /v1/alerts/{alert_id}/acknowledge": row("operator", 200, 404),
  "POST /v1/alert-groups/{group_id}/acknowledge": row("operator", 200, 404),
  "GET /v1/silences": row("viewer", 200),
  "POST /v1/silences": row("operator", 201),
  "DELETE /v1/silences/{silence_id}": row("operator", 204, 404),
  "GET /v1/alert-deliveries": row("operator", 200),
  "GET /v1/alert-settings": row("admin", 200),
  "PUT /v1/alert-settings": row("admin", 200),
  "POST /v1/alert-channels/{name}/test": row("admin", 404),
  "GET /v1/assets/{asset_id}/edge/apps": row("viewer", 200, 404),
  "POST /v1/assets/{asset_id}/edge/apps": row("operator", 200, 404),
  "POST /v1/assets/{asset_id}/edge/apply": row("operator", 200, 404),
  "POST /v1/assets/{asset_id}/edge/agent": row("admin", 200, 404),
  "GET /v1/assets/{asset_id}/edge/apps/{name}": row("viewer", 404),
  "PATCH /v1/assets/{asset_id}/edge/apps/{name}": row("operator", 200, 404),
  "DELETE /v1/assets/{asset_id}/edge/apps/{name}": row("operator", 200, 404),
  "POST /v1/assets/{asset_id}/edge/apps/{name}/start": row("operator", 200, 404),
  "POST /v1/assets/{asset_id}/edge/apps/{name}/stop": row("operator", 200, 404),
  "POST /v1/assets/{asset_id}/edge/apps/{name}/restart": row("operator", 200, 404),
  "GET /v1/assets/{asset_id}/edge/apps/{name}/logs": row("installer", 503, 404),
  "GET /v1/uploads": row("viewer", 200),
  "PUT /v1/uploads/{sha256}/pieces/{number}": row("operator", 200),
  "GET /v1/deployments": row("viewer", 200),
  "GET /v1/assets/{asset_id}/edge/deployments": row("viewer", 200, 404),
  "GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}": row("viewer", 200, 404),
  "GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}/events": row("viewer", 200, 404),
  "DELETE /v1/assets/{asset_id}/edge/deployments/{deployment_id}": row("operator", 200, 404),
  "GET /v1/assets/{asset_id}/edge/device": row("viewer", 200, 404),
  "GET /v1/assets/{asset_id}/edge/stats": row("viewer", 503, 404),
  "GET /v1/assets/{asset_id}/edge/data-usage": row("viewer", 200, 404),
  "GET /v1/assets/{asset_id}/edge/volumes": row("viewer", 503, 404),
  "DELETE /v1/assets/{asset_id}/edge/volumes/{name}": row("operator", 503, 404),
  "GET /v1/assets/{asset_id}/tags": row("viewer", 200, 404),
  "PUT /v1/assets/{asset_id}/tags": row("operator", 200, 404),
  "PATCH /v1/assets/{asset_id}/tags": row("operator", 200, 404),
  "DELETE /v1/assets/{asset_id}/tags": row("operator", 204, 404),
  "GET /v1/assets/{asset_id}/variables": row("viewer", 200, 404),
  "PUT /v1/assets/{asset_id}/variables": row("operator", 200, 404),
  "PATCH /v1/assets/{asset_id}/variables": row("operator", 200, 404),
  "DELETE /v1/assets/{asset_id}/variables": row("operator", 204, 404),
  "GET /v1/assets/{asset_id}/hold": row("viewer", 404),
  "PUT /v1/assets/{asset_id}/hold": row("operator", 200, 404),
  "DELETE /v1/assets/{asset_id}/hold": row("operator", 204, 404),
  "GET /v1/fleets": row("viewer", 200),
  "POST /v1/fleets": row("operator", 201),
  "GET /v1/fleets/{fleet}": row("viewer", 200, 404),
  "PATCH /v1/fleets/{fleet}": row("operator", 200, 404),
  "DELETE /v1/fleets/{fleet}": row("admin", 204, 404),
  "GET /v1/fleets/{fleet}/members": row("viewer", 200, 404),
  // No rollout of the fleet has succeeded.
  "POST /v1/fleets/{fleet}/reapply": row("operator", 404),
  "GET /v1/fleets/{fleet}/revisions": row("viewer", 200, 404),
  "POST /v1/fleets/{fleet}/revisions": row("operator", 201, 404),
  "GET /v1/fleets/{fleet}/revisions/{number}": row("viewer", 200, 404),
  "GET /v1/fleets/{fleet}/revisions/{number}/diff/{other}": row("viewer", 200, 404),
  "GET /v1/fleets/{fleet}/rollouts": row("viewer", 200, 404),
  "POST /v1/fleets/{fleet}/rollouts": row("operator", 201, 404),
  "GET /v1/fleets/{fleet}/rollouts/{rollout_id}": row("viewer", 200, 404),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/pause": row("operator", 200, 404),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/resume": row("operator", 200, 404),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/cancel": row("operator", 200, 404),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/rollback": row("operator", 200, 404),
  // The rollouts of this test have one wave, and await no approval.
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/retry": row("operator", 409, 404),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/advance": row("operator", 409, 404),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/approve": row("operator", 409, 404),
  "GET /v1/fleets/{fleet}/rollouts/{rollout_id}/targets": row("viewer", 200, 404),
  "GET /v1/fleets/{fleet}/rollouts/{rollout_id}/events": row("viewer", 200, 404),
  "GET /v1/session": row("self", 200),
  "DELETE /v1/session": row("session", 204),
  // The users of this test have no password.
  "PUT /v1/session/password": row("session", 422),
  "GET /v1/users": row("admin", 200),
  "POST /v1/users": row("admin", 201),
  "GET /v1/users/{user_id}": row("admin", 200, 404),
  "PATCH /v1/users/{user_id}": row("admin", 200, 404),
  "DELETE /v1/users/{user_id}": row("admin", 204, 404),
  "POST /v1/users/{user_id}/reset": row("admin", 200, 404),
  "GET /v1/api-keys": row("admin", 200),
  "POST /v1/api-keys": row("admin", 201),
  "GET /v1/api-keys/{key_id}": row("admin", 200, 404),
  "PATCH /v1/api-keys/{key_id}": row("admin", 200, 404),
  "DELETE /v1/api-keys/{key_id}": row("admin", 204, 404),
  "GET /v1/sign-in-settings": row("admin", 200),
  "GET /v1/audit": row("admin", 200),
  "GET /v1/events": row("viewer", 200),
  "GET /v1/overview": row("viewer", 200),
  "POST /v1/device-logins": row("public", 201),
  // The codes of these requests are unknown, and no provider is configured.
  "POST /v1/device-logins/token": row("public", 404),
  "GET /v1/device-logins/{user_code}": row("session", 404),
  "POST /v1/device-logins/{user_code}": row("session", 404),
  "GET /v1/oidc/start": row("public", 404),
  "GET /v1/oidc/callback": row("public", 404),
  "GET /v1/sign-in": row("public", 200),
  "POST /v1/session": row("public", 200),
  // The codes of these requests are unknown.
  "POST /v1/setup": row("public", 404),
  "POST /v1/invitations": row("public", 404),
  "POST /v1/enrolments": row("public", 404),
};

/** Operations for supervisors and load balancers. */
const OUTSIDE = new Set(["GET /healthz", "GET /readyz"]);

const PASSWORD = "a long way to the pump house";
const QUERIES: Readonly<Record<string, string>> = {
  "/sims/{sim_type}/usages": "?start_time=1785000000&end_time=1785540000",
  "/sim/usages": "?start_time=1785000000&end_time=1785540000",
};

let control: ControlPlane;
let account: TestAccount;
let stranger: TestAccount;
let requests: readonly SampleRequest[];
const signIn = { email: `${randomUUID()}@example.com`, password: PASSWORD };

beforeAll(async () => {
  control = await startControlPlane({
    config: { legacy_removal_at: "2999-01-01T00:00:00Z", enrolment_rate_limit_per_minute: 100_000 },
  });
  [account, stranger] = [await control.account(), await control.account()];
  // So that no request is about the last admin.
  await control.session(account);
  const passwordHash = await new PasswordHasher({ algorithm: QUICK_HASH }).hash(PASSWORD, {
    source: "test",
    goesFirst: false,
  });
  await control.session(account, { email: signIn.email, role: "viewer", passwordHash });
  const document = await readDocument(control.url);
  requests = sampleRequests(document).filter(({ method, path }) => !OUTSIDE.has(`${method} ${path}`));
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

type Headers = Readonly<Record<string, string>>;

const SESSION_HEADERS = { "Sec-Fetch-Site": "same-origin" };

async function keyOf(owner: TestAccount, fields: Parameters<ControlPlane["key"]>[2]): Promise<Headers> {
  return { "X-API-Key": (await control.key(owner, [], fields)).apiKey };
}

async function sessionOf(owner: TestAccount, role: Role, fields?: Parameters<ControlPlane["session"]>[2]) {
  return { Cookie: (await control.session(owner, { role }, fields)).cookie, ...SESSION_HEADERS };
}

const longAgo = () => Math.floor(Date.now() / 1000) - 30 * 24 * 3600;

/** Credentials that let nobody in. */
const REFUSED: Readonly<Record<string, () => Promise<Headers>>> = {
  none: async () => ({}),
  "a wrong key": async () => ({ "X-API-Key": "ek_wrong" }),
  "an empty key": async () => ({ "X-API-Key": "" }),
  "a wrong session": async () => ({ Cookie: "edge_session=es_wrong", ...SESSION_HEADERS }),
  "a revoked key": () => keyOf(account, { revokedAt: longAgo() }),
  "an expired key": () => keyOf(account, { expiresAt: longAgo() }),
  "a session of 30 days ago": () => sessionOf(account, "admin", { createdAt: longAgo(), lastUsedAt: longAgo() }),
  "a session that was used 13 hours ago": () =>
    sessionOf(account, "admin", { lastUsedAt: Math.floor(Date.now() / 1000) - 13 * 3600 }),
  "the session of a disabled user": () => {
    const user = { isDisabled: false };
    return control.session(account, user).then(async ({ cookie, user: { id } }) => {
      const entry = {
        accountId: account.accountId,
        at: 1,
        actor: { kind: "service", id: "test" },
        source: undefined,
      } as const;
      const facts = { action: "user.changed", assetUuid: "", app: "", outcome: "ok", details: {} } as const;
      await control.store.users.changeUser(account.accountId, id, { isDisabled: true }, { ...entry, ...facts });
      return { Cookie: cookie, ...SESSION_HEADERS };
    });
  },
};

const SAMPLE_BODIES: Readonly<Record<string, () => unknown>> = {
  "POST /v1/session": () => signIn,
  "POST /v1/users": () => ({ email: `${randomUUID()}@example.com`, role: "viewer" }),
  "POST /v1/fleets": () => ({ name: `fleet-${randomUUID()}`, selector: "*", apps: ["kiosk-ui"] }),
  "POST /v1/fleets/{fleet}/revisions": () => ({ apps: [{ name: "old-player", absent: true }] }),
  "POST /v1/fleets/{fleet}/rollouts": () => ({ revision: 1 }),
  "PUT /v1/assets/{asset_id}/hold": () => ({ reason: "Pump test" }),
  "POST /v1/bulk/assets": () => ({ assets: [{ serial_number: `SN-${randomUUID()}` }] }),
  "POST /v1/silences": () => ({ reason: "Works", until: Math.floor(Date.now() / 1000) + 3600 }),
  "PUT /v1/uploads/{sha256}/pieces/{number}": () => ({ bytes: 3, content_base64: "YWJj" }),
  "POST /v1/assets": () => ({ serial_number: `SN-${randomUUID()}`, name: "x", type: "gateway" }),
};

const SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/** The path of a request, with things of the account that exist for this request only. */
async function targetOf({ path }: SampleRequest): Promise<string> {
  const values: Record<string, string> = { name: "web", sim_type: "supersim", user_code: "7K3M-XW9T" };
  if (path.includes("{asset_id}"))
    values["asset_id"] = (await control.asset(account, { supersim: someSuperSim(), prosim: someProSim() })).uuid;
  if (path.includes("{fleet}")) {
    const { fleet, rolloutId } = await startHeldRollout(control, account, await control.asset(account));
    Object.assign(values, { fleet, number: "1", other: "1", rollout_id: rolloutId });
  }
  if (path.includes("{sha256}")) Object.assign(values, { sha256: SHA256_OF_ABC, number: "0" });
  if (path.includes("{deployment_id}")) values["deployment_id"] = await deploy(values["asset_id"] ?? "");
  if (path.includes("{user_id}")) values["user_id"] = (await control.session(account, { role: "viewer" })).user.id;
  if (path.includes("{key_id}")) values["key_id"] = (await control.key(account, [])).keyId;
  if (/\{(?:alert|group)_id\}/.test(path)) values["alert_id"] = await openAlert(control, account);
  if (path.includes("{silence_id}")) values["silence_id"] = await silence(control, account);
  if (path.includes("{group_id}")) values["group_id"] = await groupAlert(control, account, values["alert_id"] ?? "");
  const query = Object.entries(QUERIES).find(([end]) => path.endsWith(end))?.[1] ?? "";
  return path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => values[name] ?? name) + query;
}

async function deploy(uuid: string): Promise<string> {
  const response = await fetch(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "web", image: "registry.example.com/web:1" }),
  });
  await response.body?.cancel();
  return response.headers.get("deployment-id") ?? "";
}

async function send(request: SampleRequest, credentials: Headers): Promise<{ status: number; text: string }> {
  const body = SAMPLE_BODIES[nameOf(request)]?.() ?? request.body;
  const abort = new AbortController();
  const response = await fetch(control.url + (await targetOf(request)), {
    method: request.method,
    headers: { ...credentials, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: abort.signal,
  });
  const { status } = response;
  const isStream = status === 200 && (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  if (!isStream) return { status, text: await response.text() };
  abort.abort();
  return { status, text: "" };
}

function nameOf({ method, path }: SampleRequest): string {
  return `${method} ${path}`;
}

function statusFor({ from, ok }: Expected, role: Role, kind: "key" | "session"): number {
  if (from === "public" || from === "self") return ok;
  if (from === "session") return kind === "session" ? ok : 403;
  return ROLES.indexOf(role) >= ROLES.indexOf(from) ? ok : 403;
}

test("every operation of the document is expected, and no other", () => {
  expect(requests.map(nameOf).toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
});

describe.each(Object.entries(EXPECTED))("%s", (name, expected) => {
  const find = (): SampleRequest => requests.find((request) => nameOf(request) === name)!;

  test.each(Object.entries(REFUSED))("with %s", async (_what, credentials) => {
    const { status, text } = await send(find(), await credentials());
    expect(status, text).toBe(expected.from === "public" ? expected.ok : 401);
  });

  test.each(ROLES.flatMap((role) => [["key", role] as const, ["session", role] as const]))(
    "with a %s of the role %s",
    async (kind, role) => {
      const credentials = await (kind === "key" ? keyOf(account, { role }) : sessionOf(account, role));
      const { status, text } = await send(find(), credentials);
      const due = statusFor(expected, role, kind);
      expect(status, text).toBe(due);
      if (status === 403) expect(text).toContain('"permission"');
    },
  );

  test("with an admin of another account", async () => {
    const isKeyRefused = expected.from === "session";
    const key = await send(find(), await keyOf(stranger, { role: "admin" }));
    expect(key.status, key.text).toBe(isKeyRefused ? 403 : expected.foreign);
    const session = await send(find(), await sessionOf(stranger, "admin"));
    expect(session.status, session.text).toBe(expected.foreign);
  });
});
