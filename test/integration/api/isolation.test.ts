import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { recordsOf } from "../../support/control-plane/usage-records.ts";
import { sampleRequests, type SampleRequest } from "../../support/openapi/sample-requests.ts";
import { readDocument } from "../../support/openapi/read-document.ts";
import { FakeClock } from "../../support/fake-clock.ts";

let control: ControlPlane;
let owner: TestAccount;
let stranger: TestAccount;
let theirs: TestAsset;
let deploymentId: string;
let requests: readonly SampleRequest[];
const supersim = someSuperSim();
const prosim = someProSim();

beforeAll(async () => {
  // Before the removal, so that the legacy endpoints are there to be tried, too.
  control = await startControlPlane({ clock: new FakeClock(Date.parse("2026-08-01T00:00:00Z")) });
  owner = await control.account();
  stranger = await control.account();
  theirs = await control.asset(owner, { name: "Crown jewels", supersim, prosim });
  await control.store.usage.recordUsage(
    recordsOf([
      { iccid: supersim.iccid, bucket: "default_1gb", startTime: 1_785_000_000, endTime: 1_785_000_001, bytes: 4711 },
    ]),
  );
  const deployed = await fetch(`${control.url}/v1/assets/${theirs.uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": owner.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "app", image: "registry.example.com/app:1" }),
  });
  deploymentId = deployed.headers.get("deployment-id") ?? "";
  await deployed.body?.cancel();
  const document = await readDocument(control.url);
  requests = sampleRequests(document).filter(({ path }) => path.includes("{asset_id}"));
});
afterAll(() => control[Symbol.asyncDispose]());

/** Everything the owner can see. */
async function ownersView(): Promise<string> {
  const api = apiClient(control, owner);
  const paths = [
    "",
    "/edge/apps",
    "/edge/device",
    "/edge/data-usage",
    "/sims/supersim/usages?start_time=1785000000&end_time=1785540000",
    "/edge/deployments",
    "/connectivity?from=1785000000",
    "/uptime?from=1785000000",
  ];
  const answers = [
    await api.get("/v1/assets"),
    ...(await Promise.all(paths.map((path) => api.get(`/v1/assets/${theirs.uuid}${path}`)))),
    await api.get(`/v1/assets/${theirs.uuid}/edge/deployments/${deploymentId}`),
  ];
  for (const { status } of answers) expect(status).toBe(200);
  return JSON.stringify(answers.map(({ body }) => body));
}

async function send(request: SampleRequest, account: TestAccount, assetId: string): Promise<string> {
  const path = request.path
    .replace("{asset_id}", encodeURIComponent(assetId))
    .replace("{deployment_id}", deploymentId)
    .replace("{name}", "web")
    .replace("{sim_type}", "supersim");
  const response = await fetch(control.url + path, {
    method: request.method,
    headers: { "X-API-Key": account.apiKey, ...(request.body !== undefined && { "Content-Type": "application/json" }) },
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
  });
  const headers = Object.fromEntries(
    [...response.headers].filter(([name]) => !/^(date|ratelimit|keep-alive|connection|x-request-id)/.test(name)),
  );
  return JSON.stringify([response.status, headers, await response.text()]);
}

test("with the key of another account every endpoint responds as for an unknown asset, and changes nothing", async () => {
  expect(requests.length).toBeGreaterThan(10);
  const before = await ownersView();
  const identifiers = [
    theirs.uuid,
    theirs.uuid.toUpperCase(),
    theirs.asset.serialNumber,
    supersim.sid,
    supersim.iccid,
    prosim.iccid,
  ];
  for (const request of requests) {
    const name = `${request.method} ${request.path}`;
    const nobodys = await send(request, stranger, "nobodys-asset");
    expect(nobodys, name).toContain("AssetNotFound");
    for (const identifier of identifiers) {
      const answer = await send(request, stranger, identifier);
      // To the letter: neither the answer nor its headers tell the two apart.
      expect(answer.replaceAll(encodeURIComponent(identifier), "*"), name).toBe(
        nobodys.replaceAll("nobodys-asset", "*"),
      );
    }
  }
  expect(await ownersView()).toBe(before);
});

test("the list of another account does not have it, whatever is searched for", async () => {
  const api = apiClient(control, stranger);
  for (const query of ["", "?q=Crown", `?q=${theirs.asset.serialNumber}`, "?status=active", "?type=gateway"]) {
    expect((await api.get(`/v1/assets${query}`)).body).toEqual({ assets: [], next_cursor: null });
  }
  // Nor does a cursor from the owner's list open it.
  await control.asset(owner);
  const { next_cursor } = (await apiClient(control, owner).get("/v1/assets?limit=1")).body;
  expect((await api.get(`/v1/assets?cursor=${String(next_cursor)}`)).body).toEqual({ assets: [], next_cursor: null });
});

test("a deployment of another asset of one's own account is not found through the wrong asset", async () => {
  const other = await control.asset(owner);
  const answer = await apiClient(control, owner).get(`/v1/assets/${other.uuid}/edge/deployments/${deploymentId}`);
  expect([answer.status, answer.body["code"]]).toEqual([404, "DeploymentNotFound"]);
});

test("without a key, with a wrong one and with a revoked one every endpoint says the same", async () => {
  const revoked = await control.account();
  await control.store.keys.revokeKey(revoked.keyId, 1);
  const keys = [
    "",
    "ek_wrong",
    owner.apiKey.slice(0, -1),
    `${owner.apiKey}x`,
    owner.apiKey.toUpperCase(),
    theirs.deviceToken,
    revoked.apiKey,
  ];
  for (const request of requests) {
    const answers = new Set<string>();
    for (const apiKey of keys) {
      const answer = await send(request, { ...stranger, apiKey }, theirs.uuid);
      expect(answer).toContain("[401,");
      answers.add(answer);
    }
    expect(answers.size, `${request.method} ${request.path}`).toBe(1);
  }
});
