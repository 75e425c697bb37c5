import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../../support/api-client.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../../support/control-plane.ts";

const SECRET = "planted-4711-of-a-secret-variable";
const VALUE = "planted-4712-of-a-plain-variable";
const ENVIRONMENT = "planted-4713-of-an-environment";
const FILE = "planted-4714-of-a-file";

const log = captureLogText();
let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
beforeAll(async () => {
  control = await startControlPlane({ logger: log.logger });
  account = await control.account();
  api = apiClient(control, account);
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

test("tags are replaced, changed, shown with the asset, and select assets", async () => {
  const [one, other] = [await control.asset(account), await control.asset(account)];
  const path = `/v1/assets/${one.uuid}/tags`;
  expect((await api.put(path, { role: "kiosk", region: "north" })).body).toEqual({ region: "north", role: "kiosk" });
  expect((await api.patch(path, { region: null, beta: "" })).body).toEqual({ beta: "", role: "kiosk" });
  expect((await api.get(`/v1/assets/${one.uuid}`)).body).toMatchObject({ tags: { beta: "", role: "kiosk" } });
  await api.put(`/v1/assets/${other.uuid}/tags`, { role: "pump" });
  const select = async (selector: string): Promise<string[]> => {
    const { body, status } = await api.get(`/v1/assets?selector=${encodeURIComponent(selector)}`);
    expect(status, selector).toBe(200);
    return (body as { readonly assets: readonly { readonly uuid: string }[] }).assets
      .map(({ uuid }) => uuid)
      .toSorted();
  };
  expect(await select("role=kiosk,beta")).toEqual([one.uuid]);
  expect(await select("role in (kiosk,pump)")).toEqual([one.uuid, other.uuid].toSorted());
  expect(await select("!beta,role")).toEqual([other.uuid]);
  expect((await api.get("/v1/assets?selector=role%3D%3D%3D")).body).toMatchObject({ code: "InvalidRequest" });
  expect((await api.get(`/v1/assets?selector=${encodeURIComponent(String.raw`type="\u0000"`)}`)).status).toBe(422);
  expect((await api.patch(path, { type: "x" })).body).toMatchObject({ code: "InvalidRequest" });
  const many = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`key-${index}`, "x"]));
  expect((await api.patch(path, many)).body).toMatchObject({
    details: { issues: [{ path: "", reason: "the asset would have more than 50 tags" }] },
  });
  expect((await api.delete(path)).status).toBe(204);
  expect((await api.get(path)).body).toEqual({});
});

test("a hold is set, shown, over in time, and released", async () => {
  const { uuid } = await control.asset(account);
  const path = `/v1/assets/${uuid}/hold`;
  expect(await api.get(path)).toMatchObject({ status: 404, body: { code: "HoldNotFound" } });
  const until = Math.floor(Date.now() / 1000) + 3600;
  const held = { reason: "Pump test", until, set_at: expect.any(Number), set_by: { kind: "key", id: account.keyId } };
  expect((await api.put(path, { reason: "Pump test", until })).body).toMatchObject(held);
  expect((await api.put(path, { reason: "Pump test", until: 1 })).body).toMatchObject({
    details: { issues: [{ path: "until", reason: "is not in the future" }] },
  });
  expect((await api.get(path)).body).toMatchObject(held);
  expect((await api.delete(path)).status).toBe(204);
  expect((await api.delete(path)).status).toBe(204);
  expect(await api.get(path)).toMatchObject({ status: 404, body: { code: "HoldNotFound" } });
});

test("values that people set are in no response, log, audit entry or event, and not readable in the database", async () => {
  const { uuid } = await control.asset(account);
  const path = `/v1/assets/${uuid}/variables`;
  const seen: string[] = [];
  const keep = async (answer: Promise<{ readonly body: unknown; readonly status: number }>): Promise<unknown> => {
    const { body, status } = await answer;
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    seen.push(JSON.stringify(body));
    return body;
  };
  await keep(api.put(path, { TOKEN: { value: SECRET, secret: true }, SITE: { value: VALUE }, OLD: { value: VALUE } }));
  await keep(api.patch(path, { OLD: null, SITE: { value: VALUE } }));
  expect(await keep(api.get(path))).toEqual({
    SITE: { value: null, secret: false },
    TOKEN: { value: null, secret: true },
  });
  await keep(api.post("/v1/fleets", { name: "secretive", selector: "*", apps: ["ui"] }));
  const app = {
    name: "ui",
    image: `registry.example.com/ui@sha256:${"a".repeat(64)}`,
    environments: [{ key: "PASSWORD", value: ENVIRONMENT, secret: true }],
    files: [{ target: "/etc/app.conf", content: FILE }],
  };
  await keep(api.post("/v1/fleets/secretive/revisions", { apps: [{ app }] }));
  await keep(api.get("/v1/fleets/secretive/revisions/1"));
  await keep(api.get("/v1/fleets/secretive/revisions/1?reveal=environments"));
  const other = { ...app, environments: [{ key: "PASSWORD", value: `${ENVIRONMENT}-2`, secret: true }] };
  await keep(api.post("/v1/fleets/secretive/revisions", { apps: [{ app: other }] }));
  await keep(api.get("/v1/fleets/secretive/revisions/1/diff/2"));
  await keep(api.post("/v1/fleets/secretive/rollouts", {}));
  await keep(api.get("/v1/audit?limit=100"));
  const entries = await control.store.accountEvents.read(account.accountId, 0, 1000);
  seen.push(JSON.stringify(entries), log.text());
  for (const text of seen) expect(text).not.toMatch(/planted-471\d/);
  // The audit log names what was changed.
  expect(seen.join("")).toContain("asset_variables.changed");
  for (const file of [control.databasePath, `${control.databasePath}-wal`]) {
    expect((await readFile(file)).includes("planted-471")).toBe(false);
  }
  // Those who may set plain values may see them.
  expect((await api.get(`${path}?reveal=values`)).body).toEqual({
    SITE: { value: VALUE, secret: false },
    TOKEN: { value: null, secret: true },
  });
});

test("what changes nothing is no entry of the audit log", async () => {
  const { uuid } = await control.asset(account);
  const path = `/v1/assets/${uuid}/variables`;
  await api.put(path, { SITE: { value: "7" } });
  await api.put(path, { SITE: { value: "7" } });
  await api.patch(path, { SITE: { value: "7" }, NONE: null });
  const { body } = await api.get(`/v1/audit?asset=${uuid}&action=asset_variables.changed`);
  expect((body as { readonly entries: readonly object[] }).entries).toHaveLength(1);
});
