import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_CONNECTIONS_PER_ASSET } from "../../../src/control-plane/devices/hub/connection-registry.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/version.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const deploy = (uuid: string, name = "web"): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, { apiKey: account.apiKey, body: { name, image: "web:1" } });

/** Carries out a deployment, to prove that everything still works. */
async function deployWell(uuid: string, device: FakeDevice): Promise<void> {
  const stream = await deploy(uuid);
  const id = stream.deploymentId;
  for (;;) if ((await device.next("deploy")).deployment_id === id) break;
  device.success(id);
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)?.status).toBe("Success");
}

describe("two devices with one token, as from one disk image", () => {
  const [A, B, C] = [1, 2, 3].map((digit) => `0000000${digit}-0000-4000-8000-000000000000`) as [string, string, string];

  test("the one that was connected first stays, the other is refused, and the asset names both", async () => {
    const { asset, deviceToken } = await control.asset(account);
    const connect = (bootId: string) => FakeDevice.connect(control.agentUrl, deviceToken, { bootId });
    const shown = async () => {
      const headers = { "X-API-Key": account.apiKey };
      return (await fetch(`${control.url}/v1/assets/${asset.uuid}`, { headers })).json();
    };
    await using first = await connect(A);
    expect(await shown()).not.toHaveProperty("clone");
    await using _clone = await connect(B);
    expect(await first.closed).toBe(CLOSE_CODES.replaced);
    await using again = await connect(A);
    await expect(connect(B)).rejects.toThrow("409");
    await expect(connect(B)).rejects.toThrow("409");
    expect(again.isClosed).toBe(false);
    expect(await shown()).toMatchObject({
      attention: expect.arrayContaining(["cloned_identity"]) as string[],
      clone: {
        devices: [
          { boot_id: A, address: "127.0.0.1" },
          { boot_id: B, address: "127.0.0.1" },
        ],
      },
    });
    // It boots, or changes its network: at once.
    await using booted = await connect(C);
    await using moved = await connect(C);
    expect(await booted.closed).toBe(CLOSE_CODES.replaced);
    await deployWell(asset.uuid, moved);
    await expect(connect(B)).rejects.toThrow("409");
  });

  test("without a boot id the newest stays, as with earlier agents", async () => {
    const { deviceToken } = await control.asset(account);
    await using first = await FakeDevice.connect(control.agentUrl, deviceToken);
    await using second = await FakeDevice.connect(control.agentUrl, deviceToken, { bootId: "not a boot id" });
    expect(await first.closed).toBe(CLOSE_CODES.replaced);
    expect(second.isClosed).toBe(false);
  });
});

describe("the handshake", () => {
  test("tells the device its asset", async () => {
    const { asset, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.open(control.agentUrl, deviceToken);
    device.hello({ protocol: 99 });
    expect(await device.next("welcome")).toEqual({
      type: "welcome",
      protocol: PROTOCOL_VERSION,
      session_id: expect.any(String),
      asset: { uuid: asset.uuid, serial_number: asset.serialNumber, name: asset.name },
      time: expect.any(Number),
    });
  });

  test.each(["", "ed_wrong", `ek_${"x".repeat(43)}`, `ed_${"x".repeat(43)}`, "x".repeat(5000)])(
    "is refused with 401 for the token %j",
    async (token) => {
      await expect(FakeDevice.open(control.agentUrl, token)).rejects.toThrow("401");
    },
  );

  test("is refused with 404 anywhere else", async () => {
    const { deviceToken } = await control.asset(account);
    await expect(FakeDevice.open(control.agentUrl.replace("agent", "other"), deviceToken)).rejects.toThrow("404");
  });

  test("with an invalid version is a bad frame", async () => {
    const { deviceToken } = await control.asset(account);
    await using device = await FakeDevice.open(control.agentUrl, deviceToken);
    device.hello({ protocol: 0 });
    device.hello({ protocol: 1 });
    await device.next("welcome");
    expect(device.received).toHaveLength(1);
  });

  test("not begun within 10 s closes the session", async () => {
    const clock = new FakeClock();
    await using held = await startControlPlane({ clock });
    const { deviceToken } = await held.asset(await held.account());
    await using device = await FakeDevice.open(held.agentUrl, deviceToken);
    await device.flushed();
    await clock.advance(10_000);
    expect(await device.closed).toBe(CLOSE_CODES.helloTimeout);
  });
});

describe("one session per device", () => {
  test("a newer one replaces the older, and takes over its deployment", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using older = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await deploy(uuid);
    const id = stream.deploymentId;
    older.event(id, { step: "pulling" });
    await older.next("event_ack");
    await using newer = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
    expect(await older.closed).toBe(CLOSE_CODES.replaced);
    newer.event(id, { device_seq: 2, status: "Success", message: "Up.", step: "done" });
    await stream.ended;
    expect(stream.events.map(({ seq, message }) => [seq, message])).toEqual([
      [1, "Deployment received."],
      [2, "Working."],
      [3, "Up."],
    ]);
  });

  test("frames of a replaced session are ignored", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using older = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await deploy(uuid);
    const id = stream.deploymentId;
    older.event(id, {});
    await older.next("event_ack");
    const connecting = FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
    for (let count = 0; count < 50; count++) older.event(id, { message: "late" });
    await using newer = await connecting;
    await older.closed;
    newer.event(id, { device_seq: 100, status: "Success", message: "Up.", step: "done" });
    await stream.ended;
    const seqs = stream.events.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
    expect(stream.events.at(-1)?.message).toBe("Up.");
  });

  test("a command in transit is sent again in the new session", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using older = await FakeDevice.connect(control.agentUrl, deviceToken, { acknowledges: false });
    const stream = await deploy(uuid);
    await older.next("deploy");
    await using newer = await FakeDevice.connect(control.agentUrl, deviceToken);
    expect(await newer.next("deploy")).toMatchObject({ deployment_id: stream.deploymentId });
    newer.success(stream.deploymentId);
    await stream.ended;
    expect(stream.events.at(-1)?.status).toBe("Success");
  });
});

describe("connections beyond the session", () => {
  test("of one device are limited: the oldest is cut, which is logged, and the newest works", async () => {
    const log = captureLogText();
    await using logged = await startControlPlane({ logger: log.logger });
    const { deviceToken } = await logged.asset(await logged.account());
    const { deviceToken: theirs } = await logged.asset(await logged.account());
    await using other = await FakeDevice.connect(logged.agentUrl, theirs);
    await using oldest = await FakeDevice.open(logged.agentUrl, deviceToken);
    await using open = new AsyncDisposableStack();
    const kept: FakeDevice[] = [];
    for (let count = 0; count < MAX_CONNECTIONS_PER_ASSET; count++) {
      kept.push(open.use(await FakeDevice.open(logged.agentUrl, deviceToken)));
    }
    expect(await oldest.closed).toBe(1006);
    for (const device of [...kept, other]) await device.flushed();
    expect([...kept, other].filter(({ isClosed }) => isClosed)).toEqual([]);
    expect(log.text().match(/too many open connections of one device/g)).toHaveLength(1);
    kept.at(-1)?.hello();
    await kept.at(-1)?.next("welcome");
  });

  test("a device may reconnect any number of times, however slowly its connections close", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using open = new AsyncDisposableStack();
    for (let count = 0; count < 3 * MAX_CONNECTIONS_PER_ASSET; count++) {
      open.use(await FakeDevice.connect(control.agentUrl, deviceToken)).freeze();
    }
    await using last = await FakeDevice.connect(control.agentUrl, deviceToken);
    await deployWell(uuid, last);
  });

  test("that were replaced are not read, and cut if they send too much", async () => {
    const log = captureLogText();
    await using logged = await startControlPlane({ logger: log.logger });
    const { deviceToken } = await logged.asset(await logged.account());
    await using older = await FakeDevice.connect(logged.agentUrl, deviceToken);
    older.freeze();
    await using newer = await FakeDevice.connect(logged.agentUrl, deviceToken);
    for (let count = 0; count < 3; count++) older.send("x".repeat(MAX_FRAME_BYTES));
    await waitFor("the cut", () => log.text().includes('"msg":"device offline"'));
    expect(log.text()).toContain("goes on sending after its session is over; connection cut");
    expect(log.text()).not.toContain("frame refused");
    await newer.flushed();
    expect(newer.isClosed).toBe(false);
  });
});

test("a hello that names one deployment many times is answered once", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await deploy(uuid);
  const id = stream.deploymentId;
  await device.next("deploy");
  await device.cut();
  const headers = { "X-API-Key": account.apiKey };
  await fetch(`${control.url}/v1/assets/${uuid}/edge/deployments/${id}`, { method: "DELETE", headers });
  const held = Array.from({ length: 300 }, () => id);
  await using back = await FakeDevice.connect(control.agentUrl, deviceToken, { held });
  const seq = back.event(id, { status: "Fail", message: "Undone.", code: "DeploymentCancelled" });
  expect(await back.next("event_ack")).toMatchObject({ device_seq: seq });
  expect(back.received.filter(({ type }) => type === "cancel")).toHaveLength(1);
});

describe("a device that disconnects during a deployment", () => {
  test("is waited for, and the stream reports the loss and the return once each", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await deploy(uuid);
    const id = stream.deploymentId;
    device.event(id, { step: "pulling" });
    await device.next("event_ack");
    await device.cut();
    await stream.event("the loss", ({ details }) => details?.["connection"] === "lost");
    await using back = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
    back.event(id, { device_seq: 1, step: "pulling" });
    expect(await back.next("event_ack")).toMatchObject({ device_seq: 1 });
    back.event(id, { device_seq: 2, status: "Success", message: "Up.", step: "done" });
    await stream.ended;
    expect(stream.events.map(({ step, status, details }) => [step, status, details?.["connection"]])).toEqual([
      ["received", "Running", undefined],
      ["pulling", "Running", undefined],
      ["pulling", "Running", "lost"],
      ["pulling", "Running", "restored"],
      ["done", "Success", undefined],
    ]);
  });

  test("and no longer holds the deployment afterwards: it fails", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const stream = await deploy(uuid);
    device.event(stream.deploymentId, {});
    await device.next("event_ack");
    await device.cut();
    await using _back = await FakeDevice.connect(control.agentUrl, deviceToken);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "Internal" });
    expect(stream.events.at(-1)?.message).toContain("no longer has this deployment");
  });
});

test("a deployment whose record was removed continues on the device, and is never cancelled", async () => {
  const { deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken, { held: ["dep_old", "dep_older"] });
  const seq = device.success("dep_old");
  expect(await device.next("event_ack")).toEqual({ type: "event_ack", deployment_id: "dep_old", device_seq: seq });
  for (let count = 0; count < 50; count++) {
    const going = device.event("dep_older", {});
    expect(await device.next("event_ack")).toMatchObject({ deployment_id: "dep_older", device_seq: going });
  }
  device.success("dep_older");
  await device.next("event_ack");
  expect(device.received.filter(({ type }) => type === "cancel")).toEqual([]);
});

describe("what a device must not send", () => {
  test("events of another asset's deployment are never stored", async () => {
    const victim = await control.asset(account);
    const thief = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, victim.deviceToken);
    await using other = await FakeDevice.connect(control.agentUrl, thief.deviceToken);
    const stream = await deploy(victim.uuid);
    const id = stream.deploymentId;
    other.success(id);
    expect(await other.next("cancel")).toMatchObject({ deployment_id: id, reason: "unknown" });
    other.event(id, { status: "Fail", message: "mine", code: "Internal" });
    await other.next("event_ack");
    other.ack(id);
    await other.next("cancel");
    device.success(id);
    await stream.ended;
    expect(stream.events.map(({ status }) => status)).toEqual(["Running", "Success"]);
  });

  test.each([
    ["text that is not JSON", "{"],
    ["binary", Buffer.from("{}")],
    ["a known type with wrong fields", { type: "ack" }],
    ["a second hello", { type: "hello", protocol: 1, agent_version: "x", deployments: [] }],
    ["something that is no object", "[]"],
  ])("%s is refused, and too much of it closes the session", async (_what, frame) => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.send(frame);
    await deployWell(uuid, device);
    for (let count = 0; count < 25; count++) device.send(frame);
    expect(await device.closed).toBe(CLOSE_CODES.badFrame);
    await using back = await FakeDevice.connect(control.agentUrl, deviceToken);
    await deployWell(uuid, back);
  });

  test("frames before hello are refused", async () => {
    const { deviceToken } = await control.asset(account);
    await using device = await FakeDevice.open(control.agentUrl, deviceToken);
    for (let count = 0; count < 25; count++) device.ack("dep_1");
    expect(await device.closed).toBe(CLOSE_CODES.badFrame);
  });

  test("unknown types are ignored, however many", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    for (let count = 0; count < 200; count++) device.send({ type: "from-the-future", count });
    await deployWell(uuid, device);
  });

  test("frames about deployments without a record are not bad frames, however many", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    for (let count = 0; count < 60; count++) device.ack(`dep_${count}`);
    await deployWell(uuid, device);
  });

  test("a frame that is too large closes the session", async () => {
    const { deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.send("x".repeat(MAX_FRAME_BYTES + 1));
    expect(await device.closed).toBe(CLOSE_CODES.tooBig);
  });
});

test("a device whose asset is removed is disconnected within seconds, and not admitted again", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  await using other = openStore(control.databasePath);
  await other.assets.removeAsset(uuid);
  expect(await device.closed).toBe(CLOSE_CODES.unauthorized);
  await expect(FakeDevice.open(control.agentUrl, deviceToken)).rejects.toThrow("401");
});

test("a device whose asset is removed through the API is disconnected at once", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const headers = { "X-API-Key": account.apiKey };
  expect((await fetch(`${control.url}/v1/assets/${uuid}`, { method: "DELETE", headers })).status).toBe(204);
  expect(await device.closed).toBe(CLOSE_CODES.unauthorized);
});
