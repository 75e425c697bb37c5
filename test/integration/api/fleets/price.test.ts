import { afterAll, beforeAll, expect, test } from "vitest";
import type { PriceEvent } from "../../../../src/protocol/fleets/rollout-price.ts";
import { type ApiClient, apiClient } from "../../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../../support/control-plane.ts";
import { FakeDevice } from "../../../support/fake-device.ts";

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
  api = apiClient(control, account);
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

test("a dry run asks connected members by dry runs, and sums up what they answer", async () => {
  await using owned = new AsyncDisposableStack();
  const members = [];
  for (let index = 0; index < 4; index++) members.push(await control.asset(account));
  for (const { uuid } of members) await api.put(`/v1/assets/${uuid}/tags`, { role: "priced" });
  const [cheap, full, away, bare] = members;
  for (const each of [cheap, full]) await api.put(`/v1/assets/${each?.uuid}/variables`, { SITE: { value: "7" } });
  const connect = async (token: string | undefined) =>
    owned.use(await FakeDevice.connect(control.agentUrl, token ?? ""));
  const devices = [
    await connect(cheap?.deviceToken),
    await connect(full?.deviceToken),
    await connect(bare?.deviceToken),
  ];
  const strategy = { waves: [{ limit: 1 }], max_download_bytes: 5000 };
  await api.post("/v1/fleets", { name: "priced", selector: "role=priced", apps: ["ui"], strategy });
  const environments = [{ key: "SITE", value: "${SITE}" }];
  const app = { name: "ui", image: `registry.example.com/ui@sha256:${"a".repeat(64)}`, environments };
  await api.post("/v1/fleets/priced/revisions", { apps: [{ app }] });

  const response = fetch(`${control.url}/v1/fleets/priced/rollouts?dry_run=true`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: "{}",
  });
  const [first, second, unasked] = devices;
  const asked = await first?.next("apply");
  expect(asked).toMatchObject({
    request: {
      project: "priced",
      adopt: true,
      prune: false,
      apps: [{ app: { environments: [{ key: "SITE", value: "7" }] } }],
    },
    options: { dry_run: true, max_download_bytes: 5000 },
  });
  const details = { dry_run: true, plan: [], plan_hash: "0".repeat(64), download_bytes: 1234 };
  first?.event(asked?.deployment_id ?? "", { status: "Success", message: "Dry run", step: "done", details });
  const refused = await second?.next("apply");
  const failure = { status: "Fail", message: "The disk is full.", step: "done", code: "InsufficientDisk" } as const;
  second?.event(refused?.deployment_id ?? "", failure);

  const events = (await (await response).text())
    .split("\n")
    .flatMap((line): PriceEvent[] => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as PriceEvent] : []));
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  expect(events.at(-1)).toMatchObject({
    // The fleet does not allow refusals.
    status: "Fail",
    details: {
      waves: [
        { wave: 1, targets: 1 },
        { wave: 2, targets: 3 },
      ],
      targets: 4,
      asked: 1,
      not_asked: 2,
      refused: 1,
      download_bytes: 1234,
    },
  });
  const answers = new Map(events.flatMap(({ asset }) => (asset ? [[asset.asset_id, asset]] : [])));
  expect(answers.get(cheap?.uuid ?? "")).toMatchObject({ download_bytes: 1234 });
  expect(answers.get(full?.uuid ?? "")).toMatchObject({ code: "InsufficientDisk", message: "The disk is full." });
  expect(answers.get(away?.uuid ?? "")).toMatchObject({ for: "connection", code: "DeviceNotReachable" });
  expect(answers.get(bare?.uuid ?? "")).toMatchObject({
    for: "variable",
    message: expect.stringContaining("SITE"),
  });
  expect(unasked?.received.some(({ type }) => type === "apply")).toBe(false);
  // Nothing was made.
  expect((await api.get("/v1/fleets/priced/rollouts")).body).toMatchObject({ rollouts: [] });
  expect((await api.get("/v1/audit?action=rollout.priced")).body).toMatchObject({
    entries: [{ details: { fleet: "priced", revision: 1, targets: 4 } }],
  });
});

test("a device that is busy with a deployment does not refuse the rollout, which would wait for it", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await api.put(`/v1/assets/${uuid}/tags`, { role: "busy" });
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  await api.post("/v1/fleets", { name: "busy", selector: "role=busy", apps: ["ui"] });
  const app = { name: "ui", image: `registry.example.com/ui@sha256:${"a".repeat(64)}` };
  await api.post("/v1/fleets/busy/revisions", { apps: [{ app }] });
  const response = fetch(`${control.url}/v1/fleets/busy/rollouts?dry_run=true`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: "{}",
  });
  const { deployment_id } = await device.next("apply");
  const failure = { status: "Fail", step: "done", code: "ErrorDeploymentAlreadyExist" } as const;
  device.event(deployment_id, { ...failure, message: "Another deployment is in progress." });
  const lines = (await (await response).text()).split("\n").filter((line) => line !== "");
  const [answer, sums] = lines.map((line) => JSON.parse(line.slice(6)) as PriceEvent);
  expect(answer).toMatchObject({ asset: { code: failure.code, message: "Another deployment is in progress." } });
  expect(sums).toMatchObject({ status: "Success", details: { targets: 1, asked: 0, not_asked: 1, refused: 0 } });
});

test("a dry run of a fleet without members ends at once, and one without revisions is refused", async () => {
  await api.post("/v1/fleets", { name: "empty", selector: "role=nobody", apps: ["ui"] });
  const path = "/v1/fleets/empty/rollouts?dry_run=true";
  expect((await api.post(path, {})).body).toMatchObject({ code: "RevisionNotFound" });
});
