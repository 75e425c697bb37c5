import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EventStream, openStream, type StreamRequest } from "../../support/event-stream.ts";
import { FakeDevice, type FrameOf } from "../../support/fake-device.ts";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const PASSWORD = "never-to-be-written-down";
const AUTH = { registry_auth: { username: "ci", password: PASSWORD } };

function call(method: string, uuid: string, path: string, request: StreamRequest = {}): Promise<EventStream> {
  return openStream(`${control.url}/v1/assets/${uuid}/edge/apps${path}`, {
    apiKey: account.apiKey,
    method,
    ...request,
  });
}

async function deployment(uuid: string, id: string): Promise<Record<string, unknown>> {
  return (await apiClient(control, account).get(`/v1/assets/${uuid}/edge/deployments/${id}`)).body;
}

describe("an action on an app", () => {
  test.each([
    ["PATCH", "/web", "update", { image: "web:2" }, "Update received."],
    ["DELETE", "/web", "remove", undefined, "Removal received."],
    ["POST", "/web/stop", "stop", undefined, "Request to stop the app received."],
    ["POST", "/web/start", "start", undefined, "Request to start the app received."],
    ["POST", "/web/restart", "restart", undefined, "Request to restart the app received."],
  ])("%s %s is sent to the device as %s, streamed, and on record", async (method, path, action, body, message) => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await call(method, uuid, path, { body });
    const id = stream.deploymentId;
    expect(await device.next("command")).toEqual({
      type: "command",
      deployment_id: id,
      action,
      app: "web",
      ...(body && { spec: body }),
    });
    device.event(id, { message: "Working." });
    device.success(id);
    expect(await stream.ended).toBe(true);
    expect(stream.events.map((event) => [event.status, event.message])).toEqual([
      ["Running", message],
      ["Running", "Working."],
      ["Success", "The app runs."],
    ]);
    expect(await deployment(uuid, id)).toMatchObject({ action, app: "web", status: "Success" });
    const listed = await apiClient(control, account).get(`/v1/assets/${uuid}/edge/deployments`);
    expect(listed.body["deployments"]).toMatchObject([{ action }]);
  });

  test("that repeats the app's own name changes the other fields", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await call("PATCH", uuid, "/web", { body: { name: "web", image: "web:2" } });
    expect(await device.next("command")).toMatchObject({ app: "web", spec: { image: "web:2" } });
    device.success(stream.deploymentId);
    await stream.ended;
    expect(stream.events.at(-1)?.status).toBe("Success");
  });

  test("on an app that does not exist fails as the device reports", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await call("POST", uuid, "/web/stop");
    device.event(stream.deploymentId, { status: "Fail", code: "AppNotFound", message: "There is no app web." });
    await stream.ended;
    expect(stream.status).toBe(200);
    expect(stream.events.at(-1)).toMatchObject({
      status: "Fail",
      code: "AppNotFound",
      message: "There is no app web.",
    });
  });

  test("without a connection fails at once", async () => {
    const { uuid } = await control.asset(account);
    const stream = await call("DELETE", uuid, "/web");
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
  });

  test("that the device has not acknowledged is sent again in its next session, and can be cancelled", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const first = await FakeDevice.connect(control.agentUrl, deviceToken, { acknowledges: false });
    const stream = await call("PATCH", uuid, "/web", { body: { image: "web:2" } });
    const sent = await first.next("command");
    await first.cut();
    await using second = await FakeDevice.connect(control.agentUrl, deviceToken);
    expect(await second.next("command")).toEqual(sent);
    await stream.until("the acknowledgement", () => true);
    const cancelled = await apiClient(control, account).delete(
      `/v1/assets/${uuid}/edge/deployments/${stream.deploymentId}`,
    );
    expect(cancelled.status).toBe(202);
    expect(await second.next("cancel")).toMatchObject({ deployment_id: stream.deploymentId, reason: "requested" });
    second.event(stream.deploymentId, { status: "Fail", code: "DeploymentCancelled", message: "Undone." });
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ code: "DeploymentCancelled", message: "Undone." });
  });

  test("repeated with one Idempotency-Key is carried out once; another action with the key is refused", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const headers = { "Idempotency-Key": `key-${uuid}` };
    const first = await call("POST", uuid, "/web/stop", { headers });
    const second = await call("POST", uuid, "/web/stop", { headers });
    expect(second.deploymentId).toBe(first.deploymentId);
    const other = await call("POST", uuid, "/web/start", { headers });
    await other.ended;
    expect([other.status, other.events[0]?.code]).toEqual([422, "IdempotencyKeyReused"]);
    device.success(first.deploymentId);
    await Promise.all([first.ended, second.ended]);
    expect(second.text).toBe(first.text);
    expect(device.received.filter(({ type }) => type === "command")).toHaveLength(1);
  });
});

describe("a request that is refused", () => {
  test.each([
    ["PATCH", "/web", { name: "other" }, 422, "InvalidRequest"],
    ["PATCH", "/web", { replicas: 2 }, 422, "InvalidRequest"],
    ["PATCH", "/web", "not json", 400, "InvalidJson"],
    ["PATCH", "/-web", {}, 422, "InvalidRequest"],
    ["PATCH", "/web?dry_run=perhaps", {}, 422, "InvalidRequest"],
    ["DELETE", "/web", { force: true }, 422, "InvalidRequest"],
    ["POST", "/web/stop", { timeout: 3 }, 422, "InvalidRequest"],
  ])("%s %s with %j is one Fail event with %i", async (method, path, body, status, code) => {
    const { uuid } = await control.asset(account);
    const stream = await call(method, uuid, path, { body });
    await stream.ended;
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    expect([stream.status, stream.events.length, stream.events[0]?.code]).toEqual([status, 1, code]);
    expect(stream.events[0]).toMatchObject({ status: "Fail", deployment_id: "" });
  });

  test("without a body may have any content type, as with curl", async () => {
    const { uuid } = await control.asset(account);
    for (const [method, path] of [
      ["POST", "/web/stop"],
      ["DELETE", "/web"],
    ] as const) {
      const stream = await call(method, uuid, path, { headers: { "Content-Type": "application/json" } });
      expect([stream.status, await stream.ended]).toEqual([200, true]);
    }
  });
});

/** Sends the request and returns the frame that the device got, and the record. */
async function sent(method: string, path: string, body: object): Promise<[FrameOf<"deploy" | "command">, string]> {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await call(method, uuid, path, { body });
  const frame = await device.next(method === "POST" ? "deploy" : "command");
  device.success(stream.deploymentId);
  await stream.ended;
  return [frame, JSON.stringify(await deployment(uuid, stream.deploymentId))];
}

describe("options", () => {
  test.each([
    ["POST", "", { name: "web", image: "web:1" }],
    ["PATCH", "/web", { image: "web:1" }],
  ])(
    "of a %s go beside the specification, and into the record, all but the credentials",
    async (method, path, spec) => {
      const body = { ...spec, ...AUTH, max_download_bytes: 5_000_000, urgent: true };
      const [frame, record] = await sent(method, `${path}?dry_run=true`, body);
      expect(frame.options).toEqual({ ...AUTH, max_download_bytes: 5_000_000, urgent: true, dry_run: true });
      expect(frame.spec).not.toHaveProperty("urgent");
      expect(JSON.parse(record)).toMatchObject({ dry_run: true, max_download_bytes: 5_000_000, urgent: true });
      expect(record).not.toContain(PASSWORD);
    },
  );

  test("that change nothing are not sent", async () => {
    const [frame, record] = await sent("POST", "?dry_run=false", { name: "web", image: "web:1", urgent: false });
    expect(frame).not.toHaveProperty("options");
    expect(JSON.parse(record)).not.toHaveProperty("dry_run");
  });
});

describe("credentials for a registry", () => {
  test("are not stored on disk, and sent again until the device has acknowledged", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const first = await FakeDevice.connect(control.agentUrl, deviceToken, { acknowledges: false });
    const stream = await call("POST", uuid, "", { body: { name: "web", image: "web:1", ...AUTH } });
    expect((await first.next("deploy")).options).toEqual(AUTH);
    await first.cut();
    await using second = await FakeDevice.connect(control.agentUrl, deviceToken);
    expect((await second.next("deploy")).options).toEqual(AUTH);
    for (const file of [control.databasePath, `${control.databasePath}-wal`]) {
      expect((await readFile(file)).includes(PASSWORD), file).toBe(false);
    }
    second.success(stream.deploymentId);
    await stream.ended;
    expect(stream.text).not.toContain(PASSWORD);
  });

  test("are lost with a restart: the deployment fails with a plain reason instead of being sent without them", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const first = await FakeDevice.connect(control.agentUrl, deviceToken, { acknowledges: false });
    const stream = await call("POST", uuid, "", { body: { name: "web", image: "web:1", ...AUTH } });
    const id = stream.deploymentId;
    await first.next("deploy");
    await control.restart();
    await using second = await FakeDevice.connect(control.agentUrl, deviceToken);
    await using third = await FakeDevice.connect(control.agentUrl, deviceToken);
    await third.flushed();
    expect(await deployment(uuid, id)).toMatchObject({ status: "Fail", code: "RegistryAuthLost" });
    expect([...second.received, ...third.received].filter(({ type }) => type === "deploy")).toEqual([]);
    // If the device has the deployment after all, it undoes it: it was reported as failed.
    await using fourth = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
    expect(await fourth.next("cancel")).toMatchObject({ deployment_id: id });
  });

  test("survive a restart with the device that had acknowledged", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const first = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await call("POST", uuid, "", { body: { name: "web", image: "web:1", ...AUTH } });
    const id = stream.deploymentId;
    first.event(id, {});
    await first.next("event_ack");
    await control.restart();
    await using second = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
    second.event(id, { device_seq: 2, status: "Success", message: "Up.", step: "done" });
    await second.next("event_ack");
    expect(await deployment(uuid, id)).toMatchObject({ status: "Success" });
  });
});

describe("the values of the environment", () => {
  test("of an update are masked in the record once the device has acknowledged it", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    // The value of a secret may be omitted: the device has it.
    const environments = [
      { key: "TOKEN", value: PASSWORD, secret: true },
      { key: "KEPT", secret: true },
    ];
    const stream = await call("PATCH", uuid, "/web", { body: { environments } });
    expect(await device.next("command")).toMatchObject({ spec: { environments } });
    device.success(stream.deploymentId);
    await stream.ended;
    const stored = await control.store.deployments.findDeployment(stream.deploymentId);
    expect(stored?.command.spec).toEqual({
      environments: [
        { key: "TOKEN", value: "***", secret: true },
        { key: "KEPT", secret: true },
      ],
    });
    // A deployment needs every value.
    const refused = await call("POST", uuid, "", { body: { name: "new", image: "new:1", environments } });
    await refused.ended;
    expect(refused.events).toMatchObject([
      { code: "InvalidRequest", details: { issues: [{ path: "environments[1].value" }] } },
    ]);
  });
});
