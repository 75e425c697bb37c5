import { expect, onTestFinished, test } from "vitest";
import { auditRowsOf, call } from "../../support/control-plane/audit-rows.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { waitFor } from "../../support/wait-for.ts";

const OWN_PAGE = { "Sec-Fetch-Site": "same-origin" };

async function start(options: Parameters<typeof startControlPlane>[0] = {}) {
  const control = await startControlPlane(options);
  onTestFinished(() => control[Symbol.asyncDispose]());
  const account = await control.account();
  return { control, account };
}

const list = async (control: ControlPlane, account: TestAccount, query = ""): Promise<Record<string, unknown>[]> =>
  (await call(control, "GET", `/v1/audit${query}`, { "X-API-Key": account.apiKey })).body["entries"] as Record<
    string,
    unknown
  >[];

test("refused attempts are entries with the permission that was missing, repeated ones are counted", async () => {
  const { control, account } = await start();
  const viewer = await control.key(account, [], { role: "viewer" });
  const { uuid } = await control.asset(account);
  const refused = { "X-API-Key": viewer.apiKey };
  for (let attempt = 0; attempt < 5; attempt++)
    expect((await call(control, "DELETE", `/v1/assets/${uuid}`, refused)).status).toBe(403);
  expect((await call(control, "GET", "/v1/audit", refused)).status).toBe(403);
  const [read, removal] = await list(control, account);
  expect(removal).toMatchObject({
    actor: { kind: "key", id: viewer.keyId },
    action: "asset.removed",
    asset_id: uuid,
    outcome: "Forbidden",
    details: { permission: "assets.remove" },
  });
  expect(read).toMatchObject({ action: "access.refused", details: { method: "GET", endpoint: "/v1/audit" } });
  expect(await list(control, account)).toHaveLength(2);
  await waitFor("the count", async () => {
    const [, counted] = await list(control, account);
    return (counted?.["details"] as { count?: number } | undefined)?.count === 5;
  });
});

test("conflicts are entries with their code", async () => {
  const { control, account } = await start();
  const key = { "X-API-Key": account.apiKey };
  const body = { serial_number: "SN-1", type: "gateway" };
  expect((await call(control, "POST", "/v1/assets", key, body)).status).toBe(201);
  expect((await call(control, "POST", "/v1/assets", key, body)).status).toBe(409);
  const { uuid } = await control.asset(account);
  expect((await call(control, "PATCH", `/v1/assets/${uuid}`, key, { status: "active" })).status).toBe(409);
  expect((await list(control, account)).map(({ action, outcome }) => [action, outcome])).toEqual([
    ["asset.changed", "AssetHasNoSim"],
    ["asset.registered", "IdentifierTaken"],
    ["asset.registered", "ok"],
  ]);
});

test("failed sign-ins are counted for each address and source; an unknown address is not stored", async () => {
  const { control, account } = await start();
  const { user } = await control.session(account, { email: "jane@example.com" });
  for (let attempt = 0; attempt < 4; attempt++)
    await call(control, "POST", "/v1/session", {}, { email: "Jane@example.com", password: "wrong-password" });
  await call(control, "POST", "/v1/session", {}, { email: "nobody@example.com", password: "wrong-password" });
  await waitFor("the count", async () => {
    const [failed] = await list(control, account, "?outcome=failed");
    return (failed?.["details"] as { count?: number } | undefined)?.count === 4;
  });
  expect(await list(control, account, "?outcome=SignInFailed")).toMatchObject([
    { action: "session.opened", actor: { kind: "user", id: user.id }, source: "127.0.0.1" },
  ]);
  const rows = auditRowsOf(control).filter(({ outcome }) => outcome === "SignInFailed");
  expect(rows).toHaveLength(2);
  expect(JSON.stringify(rows)).not.toContain("nobody@example.com");
});

test("the log is filtered, and its pages follow each other; another account's is not seen", async () => {
  const { control, account } = await start();
  const key = { "X-API-Key": account.apiKey };
  const { uuid, asset } = await control.asset(account);
  const { user, cookie } = await control.session(account);
  for (const name of ["a", "b", "c"]) await call(control, "PATCH", `/v1/assets/${uuid}`, key, { name });
  await call(control, "PATCH", `/v1/assets/${uuid}`, { cookie, ...OWN_PAGE }, { name: "d" });
  expect(await list(control, account, `?actor=${user.id}&action=asset.changed`)).toHaveLength(1);
  expect(await list(control, account, `?action=asset.&asset=${asset.serialNumber}`)).toHaveLength(4);
  expect(await list(control, account, "?until=1000")).toEqual([]);
  const names: unknown[] = [];
  let cursor: string | null = "";
  for (let page = 0; page < 2; page++) {
    const query = `?action=asset.changed&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const { body } = await call(control, "GET", `/v1/audit${query}`, key);
    names.push(...(body["entries"] as { details: { name: string } }[]).map(({ details }) => details.name));
    cursor = body["next_cursor"] as string | null;
  }
  expect(names).toEqual(["d", "c", "b", "a"]);
  expect(cursor).toBeNull();
  for (const query of ["?action=asset", "?action=nothing.", "?cursor=x", "?limit=0", "?since=x", "?other=1"])
    expect((await call(control, "GET", `/v1/audit${query}`, key)).status, query).toBe(422);
  const stranger = await control.account();
  expect(await list(control, stranger, `?asset=${uuid}`)).toEqual([]);
});
