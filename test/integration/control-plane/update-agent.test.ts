import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { openStream, type StreamRequest } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";

const IMAGE = "registry.example.com/team/edge-agent:1.5.0";
const PASSWORD = "never-to-be-written-down";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const update = (uuid: string, body: unknown, query = "", request: StreamRequest = {}) =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/agent${query}`, {
    apiKey: account.apiKey,
    method: "POST",
    body,
    ...request,
  });

test("an update of the agent is one frame, one stream and one record, and no credentials are stored", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const credentials = { registry_auth: { username: "robot", password: PASSWORD } };
  const body = { image: IMAGE, downgrade: true, max_download_bytes: 5_000_000, ...credentials };
  const stream = await update(uuid, body, "?dry_run=true");
  expect(await device.next("update_agent")).toEqual({
    type: "update_agent",
    deployment_id: stream.deploymentId,
    request: { image: IMAGE, downgrade: true },
    options: { max_download_bytes: 5_000_000, dry_run: true, ...credentials },
  });
  device.event(stream.deploymentId, { status: "Success", step: "done", message: "Nothing was changed." });
  expect(await stream.ended).toBe(true);
  expect(stream.events).toMatchObject([
    { status: "Running", message: "Update of the agent received. Dry run: nothing will be changed." },
    { status: "Success" },
  ]);
  const { body: record } = await apiClient(control, account).get(
    `/v1/assets/${uuid}/edge/deployments/${stream.deploymentId}`,
  );
  expect(record).toMatchObject({ action: "update_agent", app: "edge-agent", image: IMAGE, dry_run: true });
  expect(JSON.stringify(await control.store.deployments.findDeployment(stream.deploymentId))).not.toContain(PASSWORD);
});

test("an update that the version on trial has lost waits for the version before, which numbers its events anew", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await update(uuid, { image: IMAGE });
  const id = stream.deploymentId;
  await device.next("update_agent");
  device.event(id, { device_seq: 6, step: "starting", message: "Release 1.5.0 is on the device." });
  await device.next("event_ack");
  await device.cut();
  const trial = await FakeDevice.connect(control.agentUrl, deviceToken);
  await trial.next("query");
  // Behind its answer.
  trial.success("dep_of_another_time");
  await trial.next("event_ack");
  await trial.cut();
  await using back = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
  back.event(id, { device_seq: 1, step: "verifying", message: "The agent's store was lost." });
  back.event(id, { device_seq: 2, status: "Fail", step: "rolling_back", code: "AgentUpdateFailed", message: "Back." });
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "AgentUpdateFailed", message: "Back." });
});

test("one that the device loses before it has the release fails at once", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await update(uuid, { image: IMAGE });
  await device.next("update_agent");
  device.event(stream.deploymentId, { step: "pulling", message: "0.5 MB to download." });
  await device.next("event_ack");
  await device.cut();
  await using _back = await FakeDevice.connect(control.agentUrl, deviceToken);
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "Internal" });
});

test("a repeated request joins the first one's deployment, and one with another image is refused", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const request = { headers: { "Idempotency-Key": `update-${uuid}` } };
  const first = await update(uuid, { image: IMAGE }, "", request);
  await device.next("update_agent");
  const second = await update(uuid, { image: IMAGE }, "", request);
  expect(second.deploymentId).toBe(first.deploymentId);
  const other = await update(uuid, { image: `${IMAGE}-1` }, "", request);
  await other.ended;
  expect(other.events).toMatchObject([{ status: "Fail", code: "IdempotencyKeyReused" }]);
  device.event(first.deploymentId, { status: "Fail", step: "done", message: "Back.", code: "AgentUpdateFailed" });
  expect(await first.ended).toBe(true);
  expect(await second.ended).toBe(true);
  expect(second.events.at(-1)).toMatchObject({ status: "Fail", code: "AgentUpdateFailed" });
});

test.each([
  [{ version: "1.5.0" }, "AgentReleaseNotFound"],
  [{}, "InvalidRequest"],
  [{ version: "1.5.0", image: IMAGE }, "InvalidRequest"],
  [{ version: "../1.5.0" }, "InvalidRequest"],
  [{ image: "not an image" }, "InvalidRequest"],
])("%j becomes no deployment: %s", async (body, code) => {
  const { uuid } = await control.asset(account);
  const stream = await update(uuid, body);
  await stream.ended;
  expect(stream.events).toMatchObject([{ status: "Fail", code, deployment_id: "" }]);
});

test("an operator, who may deploy apps, may not update the agent", async () => {
  const { uuid } = await control.asset(account);
  const operator = await control.key(account, [], { role: "operator" });
  const stream = await openStream(`${control.url}/v1/assets/${uuid}/edge/agent`, {
    apiKey: operator.apiKey,
    method: "POST",
    body: { image: IMAGE },
  });
  await stream.ended;
  expect(stream.events).toMatchObject([{ status: "Fail", code: "Forbidden" }]);
});
