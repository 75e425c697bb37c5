import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { InProcessBus } from "../../../../src/control-plane/bus/in-process-bus.ts";
import type { NewDeployment } from "../../../../src/control-plane/core/deployment.ts";
import type { Fact } from "../../../../src/control-plane/core/next.ts";
import { CredentialCache } from "../../../../src/control-plane/deployments/credentials.ts";
import { DeploymentExecutor, eventsTopic } from "../../../../src/control-plane/deployments/executor.ts";
import { StaleSessionError } from "../../../../src/control-plane/store/sessions.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { StoreUnavailableError } from "../../../../src/control-plane/store/unavailable.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import type { DeviceEvent } from "../../../../src/protocol/deployments/deployment-event.ts";
import { someAudit } from "../../../support/control-plane/people.ts";
import { commandOf, T0 } from "../../../support/deployment-record.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const ASSET = "11111111-1111-4111-8111-111111111111";
const OTHER_ASSET = "22222222-2222-4222-8222-222222222222";
const ACK_TIMEOUT_MS = 10_000;
const NO_LIMITS = { maxAccountBytes: Number.MAX_SAFE_INTEGER, maxRunningPerAsset: 100 };
const CREATION = { idempotency: undefined, limits: NO_LIMITS, audit: someAudit("deployment.requested") };
const REQUEST: NewDeployment = {
  id: "dep_1",
  accountId: "acc_1",
  assetUuid: ASSET,
  app: "web",
  command: commandOf("deploy", { name: "web", image: "web:1" }),
  options: {},
  hasRegistryAuth: true,
  nowMs: T0,
  timeoutMs: 900_000,
};

let rig: Awaited<ReturnType<typeof setUp>>;
beforeEach(async () => void (rig = await setUp()));
afterEach(() => rig.opened[Symbol.asyncDispose]());

async function setUp() {
  const opened = openStore(":memory:");
  await opened.accounts.createAccount({ id: "acc_1", name: "account", createdAt: 1 });
  for (const [index, uuid] of [ASSET, OTHER_ASSET].entries()) {
    const asset = { uuid, accountId: "acc_1", serialNumber: `GW-${index}`, name: "gateway", type: "", createdAt: 1 };
    await opened.assets.registerAsset({ ...asset, supersim: undefined, prosim: undefined }, Buffer.from(uuid));
  }
  const clock = new FakeClock(T0);
  const bus = new InProcessBus();
  const credentials = new CredentialCache();
  /** What followed from changes, in its order, and the calls of the store. */
  const followed: string[] = [];
  const calls: string[] = [];
  bus.subscribeWakes("ins_1", (assetUuid) => followed.push(`wake ${assetUuid}`));
  bus.subscribe(eventsTopic("dep_1"), () => followed.push("tell streams"));
  const { deployments } = opened;
  const store = new Proxy(deployments, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...given: unknown[]) => unknown;
      return (...given: unknown[]) => {
        calls.push(String(name));
        return method.apply(target, given);
      };
    },
  });
  const executor = new DeploymentExecutor({
    store,
    bus,
    clock,
    logger: await createLogger({ name: "test", level: "fatal" }),
    ackTimeoutMs: ACK_TIMEOUT_MS,
    sweepers: {
      deadlines: { note: (dueMs) => followed.push(`deadline in ${dueMs - T0}`) },
      undelivered: { sweepSoon: () => followed.push("look for what is not delivered") },
    },
    credentials,
  });
  const connect = async (assetUuid = ASSET) => {
    const session = { assetUuid, sessionId: "s", instanceId: "ins_1", protocol: 3, at: 1 };
    const { epoch } = (await opened.sessions.open(session))!;
    return { assetUuid, epoch };
  };
  const create = () => executor.create(REQUEST, { obstacle: undefined, isAwaited: false }, CREATION);
  return { opened, deployments, executor, credentials, followed, calls, connect, create };
}

const eventOf = (seq: number, fields: Partial<DeviceEvent> = {}): Fact => ({
  kind: "event",
  event: { device_seq: seq, age_ms: 0, status: "Running", step: "pulling", message: `${seq}`, ...fields },
  epoch: 1,
  maxAccountBytes: Infinity,
});

/** Empties a list, and returns what was in it. */
const take = (list: string[]): string[] => list.splice(0);

test("what follows from a change is done after it is stored, in its order", async () => {
  const { executor, credentials, followed, connect, create } = rig;
  const fence = await connect();
  credentials.set("dep_1", { token: "t" });
  expect(await create()).toEqual({ kind: "created" });
  expect(take(followed)).toEqual([`deadline in ${ACK_TIMEOUT_MS}`, `wake ${ASSET}`]);
  expect(credentials.find("dep_1")).toBeDefined();
  await executor.apply("dep_1", { kind: "acknowledged", epoch: 1 }, fence);
  expect(take(followed)).toEqual(["deadline in 900000"]);
  expect(credentials.find("dep_1")).toBeUndefined();
  await executor.apply("dep_1", eventOf(1), fence);
  expect(take(followed)).toEqual(["deadline in 900000", "tell streams"]);
  await executor.apply("dep_1", { kind: "cancel_requested" });
  expect(take(followed)).toEqual(["deadline in 60000", `wake ${ASSET}`, "tell streams"]);
  await executor.apply("dep_1", eventOf(2, { status: "Fail", code: "DeploymentCancelled", step: "done" }), fence);
  expect(take(followed)).toEqual(["tell streams"]);
  expect(await executor.apply("dep_1", { kind: "cancel_requested" })).toMatchObject({ hasChanged: false });
  expect(await executor.apply("dep_none", { kind: "cancel_requested" })).toBeUndefined();
  expect(take(followed)).toEqual([]);
});

test("a new deployment is decided anew if its device connects or goes before it is stored", async () => {
  const { deployments, executor, connect, create, calls } = rig;
  const find = deployments.findHolder.bind(deployments);
  Object.assign(deployments, {
    findHolder: async (assetUuid: string) => {
      const holder = await find(assetUuid);
      await connect();
      return holder;
    },
  });
  expect(await create()).toEqual({ kind: "created" });
  expect(calls.filter((call) => call === "createDeployment")).toHaveLength(2);
  expect(await deployments.findDeployment("dep_1")).toMatchObject({
    state: { kind: "sending" },
    holder: "ins_1",
    lastSeq: 1,
  });
  const repeated = { ...REQUEST, id: "dep_2", assetUuid: OTHER_ASSET };
  Object.assign(deployments, { findHolder: async () => "ins_1" });
  await executor.create(repeated, { obstacle: undefined, isAwaited: false }, CREATION);
  expect(await deployments.findDeployment("dep_2")).toMatchObject({
    state: { code: "DeviceNotReachable" },
    lastSeq: 2,
  });
});

test("what was changed a moment ago for the same session is not read again, unless another has changed it since", async () => {
  const { deployments, executor, connect, create, calls } = rig;
  const fence = await connect();
  await create();
  take(calls);
  await executor.apply("dep_1", eventOf(1), fence);
  expect(take(calls)).toEqual(["findDeployment", "updateDeployment"]);
  const second = await executor.apply("dep_1", eventOf(2), fence);
  expect(take(calls)).toEqual(["updateDeployment"]);
  const read = await deployments.findDeployment("dep_1");
  expect(read).toEqual({ ...second?.deployment, accountStoredBytes: read?.accountStoredBytes });
  const before = read!;
  await deployments.updateDeployment({ before, after: { ...before, version: before.version + 1 }, events: [] });
  expect(await executor.apply("dep_1", eventOf(3), fence)).toMatchObject({ deployment: { lastSeq: 4, version: 5 } });
  expect(take(calls)).toEqual(["updateDeployment", "findDeployment", "updateDeployment"]);
  // Without a change nothing shows that what is known is right.
  const readAt = performance.now();
  const now = vi.spyOn(performance, "now").mockReturnValue(readAt);
  expect(await executor.apply("dep_1", eventOf(3), fence)).toMatchObject({ hasChanged: false });
  expect(take(calls)).toEqual(["findDeployment"]);
  // The size of its account may have changed, however often the deployment itself has.
  for (const [seq, ageMs] of [2_500, 4_500, 6_000].entries()) {
    now.mockReturnValue(readAt + ageMs);
    await executor.apply("dep_1", eventOf(4 + seq), fence);
  }
  now.mockRestore();
  expect(take(calls).filter((call) => call === "findDeployment")).toHaveLength(1);
});

test("a later session of the device has replaced the one that a fact comes from, and another device changes nothing", async () => {
  const { deployments, executor, connect, create } = rig;
  const fence = await connect();
  await create();
  await executor.apply("dep_1", eventOf(1), fence);
  const later = await connect();
  await expect(executor.apply("dep_1", eventOf(2), fence)).rejects.toThrow(StaleSessionError);
  await expect(executor.apply("dep_1", eventOf(1), fence)).rejects.toThrow(StaleSessionError);
  const other = await connect(OTHER_ASSET);
  expect(await executor.apply("dep_1", eventOf(2), other)).toMatchObject({ hasChanged: false });
  await expect(executor.apply("dep_1", eventOf(2), { ...other, epoch: 9 })).rejects.toThrow(StaleSessionError);
  expect(await deployments.findDeployment("dep_1")).toMatchObject({ lastSeq: 2 });
  expect(await executor.apply("dep_1", eventOf(2), later)).toMatchObject({ deployment: { lastSeq: 3 } });
});

test("of facts that arrive together each is applied once, and those that come too late change nothing", async () => {
  const { deployments, executor, connect, create, followed } = rig;
  await connect();
  await create();
  const ends = Array.from({ length: 6 }, () => executor.apply("dep_1", { kind: "asset_removed" }));
  const applied = await Promise.all([...ends, executor.apply("dep_1", { kind: "stream_interrupted" })]);
  expect(applied.filter((result) => result?.hasChanged)).toHaveLength(1);
  expect(await deployments.findDeployment("dep_1")).toMatchObject({
    state: { status: "Fail" },
    lastSeq: 2,
    version: 2,
  });
  expect(followed.filter((what) => what === "tell streams")).toHaveLength(1);
});

test("if the store does not say whether it has stored a change, what may follow from it is looked for", async () => {
  const { deployments, executor, connect, create, followed } = rig;
  await connect();
  await create();
  take(followed);
  Object.assign(deployments, { updateDeployment: () => Promise.reject(new StoreUnavailableError("gone")) });
  await expect(executor.apply("dep_1", { kind: "cancel_requested" })).rejects.toThrow(StoreUnavailableError);
  expect(take(followed)).toEqual(["tell streams", "deadline in 5000", "look for what is not delivered"]);
});
