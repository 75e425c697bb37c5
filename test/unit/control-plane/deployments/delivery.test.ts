import { expect, test } from "vitest";
import type {
  Deployment,
  DeploymentState,
  UndeliveredDeployment,
  Waiting,
} from "../../../../src/control-plane/core/deployment.ts";
import type { Fact } from "../../../../src/control-plane/core/next.ts";
import { DeviceDelivery, type DeviceDeliveryOptions } from "../../../../src/control-plane/deployments/delivery.ts";
import type { DeviceSession } from "../../../../src/control-plane/devices/session.ts";
import type { DeploymentStore } from "../../../../src/control-plane/store/deployments.ts";
import { StaleSessionError } from "../../../../src/control-plane/store/sessions.ts";
import { acknowledged, failed, receivedDeployment, SENDING, uncertain } from "../../../support/deployment-record.ts";

const WAITING: Waiting = { kind: "waiting", sendingSinceMs: undefined };
/** It has ended, and must be undone. */
const CANCELLED = failed("DeploymentCancelled", "undo");

const row = (id: string, state: DeploymentState, cancelRequestedAtMs?: number): UndeliveredDeployment => ({
  id,
  assetUuid: "asset",
  state,
  cancelRequestedAtMs,
  hasRegistryAuth: false,
});

async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await Promise.resolve();
}

function setUp() {
  const waiting: UndeliveredDeployment[] = [];
  const sent: string[] = [];
  /** What a data plan keeps back. */
  const held = new Set<string>();
  /** What is not to be sent any more when its command has been read. */
  const unsendable = new Set<string>();
  const state = { reads: 0, isCurrent: true, error: undefined as Error | undefined };
  /** Resolves the reads one by one. */
  const gates: (() => void)[] = [];
  const store = {
    async listUndelivered() {
      state.reads++;
      const found = [...waiting];
      await new Promise<void>((resolve) => gates.push(resolve));
      if (state.error) throw state.error;
      return found;
    },
    async findDeployment(id: string) {
      const row = waiting.find((deployment) => deployment.id === id);
      return row && receivedDeployment({ ...row, ...(unsendable.has(id) && { state: acknowledged() }) });
    },
  };
  const executor = {
    async apply(id: string, { kind }: Fact) {
      sent.push(`${kind} ${id}`);
    },
  };
  const findObstacle = async ({ id }: { id: string }) =>
    held.has(id) ? { effect: "wait", type: "supersim", allowanceBytes: 1, until: 1 } : undefined;
  const session = {
    assetUuid: "asset",
    epoch: 1,
    get isCurrent() {
      return state.isCurrent;
    },
    send: ({ type, deployment_id: id, reason }: { type: string; deployment_id: string; reason?: string }) =>
      sent.push(reason === undefined ? `command ${id}` : `${type} ${id} ${reason}`),
    unknownFeatures: new Set(),
    checkLiveness: () => sent.push("ping"),
  } as unknown as DeviceSession;
  const options = { store, executor, findObstacle, credentials: {}, gateway: {} } as unknown as DeviceDeliveryOptions;
  const delivery = new DeviceDelivery(options);
  /** Lets all reads resolve that are waiting, and those that follow from them. */
  const flow = async () => {
    await settle();
    for (let gate = gates.shift(); gate; gate = gates.shift()) {
      gate();
      await settle();
    }
  };
  return { delivery, session, waiting, sent, held, unsendable, state, flow };
}

test("wake-ups during a delivery cause one more, and nothing is sent twice in a session", async () => {
  const { delivery, session, waiting, sent, state, flow } = setUp();
  waiting.push(row("dep_1", SENDING));
  const first = delivery.deliver(session);
  waiting.push(row("dep_2", SENDING));
  const others = [1, 2, 3].map(() => delivery.deliver(session));
  await flow();
  await Promise.all([first, ...others]);
  expect(state.reads).toBe(2);
  expect(sent).toEqual(["command dep_1", "command dep_2"]);
});

test("a cancellation follows its command, and one of a device that did not acknowledge is followed by a ping", async () => {
  const { delivery, session, waiting, sent, flow } = setUp();
  waiting.push(row("dep_1", SENDING));
  void delivery.deliver(session);
  await flow();
  waiting[0] = row("dep_1", failed("DeviceNotReachable", "undo"));
  void delivery.deliver(session);
  await flow();
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual(["command dep_1", "cancel dep_1 not_reachable", "ping"]);
});

test("nothing is sent while the outcome is uncertain, and a command that was not sent is tried again", async () => {
  const { delivery, session, waiting, sent, unsendable, flow } = setUp();
  waiting.push(row("dep_1", uncertain("asked")), row("dep_2", SENDING));
  unsendable.add("dep_2");
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual([]);
  unsendable.clear();
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual(["command dep_2"]);
});

test("what is settled and comes back is sent again", async () => {
  const { delivery, session, waiting, sent, flow } = setUp();
  waiting.push(row("dep_1", SENDING));
  void delivery.deliver(session);
  await flow();
  const [settled] = waiting.splice(0);
  void delivery.deliver(session);
  await flow();
  waiting.push(settled!);
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual(["command dep_1", "command dep_1"]);
});

test("a session that another has replaced gets nothing, and the next delivery is not blocked", async () => {
  const { delivery, session, waiting, sent, state, flow } = setUp();
  waiting.push(row("dep_1", SENDING));
  state.error = new StaleSessionError({ assetUuid: "asset", epoch: 1 });
  const refused = expect(delivery.deliver(session)).rejects.toThrow(StaleSessionError);
  await flow();
  await refused;
  state.error = undefined;
  state.isCurrent = false;
  await delivery.deliver(session);
  expect(sent).toEqual([]);
  state.isCurrent = true;
  const delivered = delivery.deliver(session);
  await flow();
  await delivered;
  expect(sent).toEqual(["command dep_1"]);
});

test("a device whose access was revoked is told what to undo, and gets no command", async () => {
  const { delivery, session, waiting, sent, flow } = setUp();
  waiting.push(row("dep_1", SENDING), row("dep_2", CANCELLED), row("dep_3", uncertain("asked"), 1));
  const delivered = delivery.deliverCancellations(session);
  await flow();
  await delivered;
  expect(sent).toEqual(["cancel dep_2 requested"]);
});

test("a deployment that was cancelled before it was sent in this session ends, and its device hears nothing", async () => {
  const { delivery, session, waiting, sent, flow } = setUp();
  waiting.push(row("dep_1", SENDING, 1), row("dep_2", acknowledged(), 1));
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual(["never_sent dep_1", "cancel dep_2 requested"]);
});

test("a command that is being read while the deployment is cancelled is not sent after its cancellation", async () => {
  const { session, sent } = setUp();
  const found = Promise.withResolvers<Deployment>();
  const rows = [row("dep_1", SENDING)];
  const store = {
    listUndelivered: async () => rows,
    findDeployment: () => found.promise,
  } as unknown as DeploymentStore;
  const options = { store, executor: {}, credentials: {}, gateway: {} } as unknown as DeviceDeliveryOptions;
  const delivery = new DeviceDelivery(options);
  const delivered = delivery.deliver(session);
  await settle();
  // The asset is removed.
  rows[0] = row("dep_1", CANCELLED);
  await delivery.deliverCancellations(session);
  found.resolve(receivedDeployment());
  await delivered;
  await delivery.deliver(session);
  expect(sent).toEqual(["cancel dep_1 requested"]);
});

test("a deployment that waits for the device is sent, and the connection probed once if it waits again", async () => {
  const { delivery, session, waiting, sent, flow } = setUp();
  waiting.push(row("dep_1", WAITING));
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual(["device_ready dep_1", "command dep_1"]);
  waiting[0] = row("dep_1", SENDING);
  void delivery.deliver(session);
  await flow();
  waiting[0] = row("dep_1", WAITING);
  for (let wake = 0; wake < 3; wake++) {
    void delivery.deliver(session);
    await flow();
  }
  expect(sent).toEqual(["device_ready dep_1", "command dep_1", "ping"]);
});

test("what a data plan keeps back is not sent, and what comes after it is", async () => {
  const { delivery, session, waiting, sent, held, flow } = setUp();
  waiting.push(row("dep_1", WAITING), row("dep_2", SENDING));
  held.add("dep_1");
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual(["plan_spent dep_1", "command dep_2"]);
  held.clear();
  waiting.pop();
  void delivery.deliver(session);
  await flow();
  expect(sent).toEqual(["plan_spent dep_1", "command dep_2", "device_ready dep_1", "command dep_1"]);
});
