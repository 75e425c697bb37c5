import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";

/*
 * A service whose protocol has gone on to version 3, which has added some of what the first version has today.
 */
const ADDED = {
  pull: 2,
  health_timeout_s: 3,
  "environments[].secret": 3,
  "apply.remove": 3,
  "action restart": 3,
  "option dry_run": 3,
  "query volumes": 3,
};
const OLD = { protocol: 2 };
const CURRENT = { protocol: 3 };

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane({ protocols: { current: 3, oldest: 2, added: ADDED } });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

async function connected(options: { readonly protocol: number }) {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken, options);
  return { uuid, device, [Symbol.asyncDispose]: () => device[Symbol.asyncDispose]() };
}

function call(method: string, uuid: string, path: string, body?: unknown): Promise<EventStream> {
  const url = `${control.url}/v1/assets/${uuid}/edge/${path}`;
  return openStream(url, { apiKey: account.apiKey, method, ...(body !== undefined && { body }) });
}

const APP = { name: "web", image: "web:1" };
const environments = [{ key: "TOKEN", value: "a", secret: true }];

describe("a device of an earlier version", () => {
  test.each([
    ["POST", "apps", { ...APP, environments }, "environments[].secret"],
    ["PATCH", "apps/web", { health_timeout_s: 300 }, "health_timeout_s"],
    ["POST", "apps?dry_run=true", APP, "option dry_run"],
    ["POST", "apps/web/restart", undefined, "action restart"],
    ["POST", "apply", { project: "line", apps: [{ app: { ...APP, environments } }] }, "environments[].secret"],
    ["POST", "apply", { project: "line", apps: [{ app: APP }], remove: ["old"] }, "apply.remove"],
  ])("is not sent %s %s with %j, and the client is told why", async (method, path, body, feature) => {
    await using rig = await connected(OLD);
    const stream = await call(method, rig.uuid, path, body);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({
      status: "Fail",
      code: "DeviceTooOld",
      message: `The agent on the device is too old for this request: it does not know "${feature}".`,
      details: { features: [feature] },
    });
    await rig.device.flushed();
    expect(rig.device.received.map(({ type }) => type)).toEqual(["welcome"]);
  });

  test("is sent the fields that it knows, and not those that an update only clears", async () => {
    await using rig = await connected(OLD);
    await call("PATCH", rig.uuid, "apps/web", { image: "web:2", pull: "always", health_timeout_s: null });
    expect((await rig.device.next("command")).spec).toEqual({ image: "web:2", pull: "always" });
  });

  test("is not asked what it cannot answer", async () => {
    await using rig = await connected(OLD);
    const { status, body } = await apiClient(control, account).get(`/v1/assets/${rig.uuid}/edge/volumes`);
    expect([status, body]).toEqual([
      409,
      expect.objectContaining({ code: "DeviceTooOld", details: { features: ["query volumes"] } }),
    ]);
    await rig.device.flushed();
    expect(rig.device.received.filter(({ type }) => type === "query")).toEqual([]);
  });
});

test("a device of the present version is sent all of it", async () => {
  await using rig = await connected(CURRENT);
  await call("POST", rig.uuid, "apps?dry_run=true", { ...APP, environments, pull: "always", health_timeout_s: 300 });
  expect(await rig.device.next("deploy")).toMatchObject({ spec: { environments, pull: "always" } });
  await call("POST", rig.uuid, "apps/web/restart");
  expect(await rig.device.next("command")).toMatchObject({ action: "restart" });
});

test("a device of a version that is not supported any more is turned away", async () => {
  const { deviceToken } = await control.asset(account);
  await using device = await FakeDevice.open(control.agentUrl, deviceToken);
  device.hello({ protocol: 1 });
  expect(await device.closed).toBe(CLOSE_CODES.unsupportedProtocol);
});
