import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeMessage } from "../../src/control-plane/core/gateway/message.ts";
import { encodeJson } from "../../src/control-plane/devices/gateway/wire.ts";
import { apiClient } from "../support/api-client.ts";
import { HostileClient } from "../support/bus/hostile-client.ts";
import { NatsServer } from "../support/bus/nats-server.ts";
import { createAccount, createAsset, type TestAccount, type TestAsset } from "../support/control-plane.ts";
import { type TestInstance, TestInstances } from "../support/control-plane/test-instances.ts";
import { type EventStream, openStream } from "../support/event-stream.ts";
import { FakeDevice } from "../support/fake-device.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * Somebody has the credentials of the bus, and nothing else. Each attack is tried on instances that do not seal what they say, where
 * it must succeed for the test to mean anything, and on instances as they are.
 */

const LOG_LINE = "planted-in-a-log";
const PASSWORD = "planted-registry-password";
const MAX_STREAMS = 2;
const FLOOD = 20_000;

/** The device is connected to the first instance, and clients ask the second. */
interface Rig {
  readonly first: TestInstance;
  readonly second: TestInstance;
  readonly account: TestAccount;
  readonly asset: TestAsset;
  readonly device: FakeDevice;
  readonly hostile: HostileClient;
}

async function start(isSealed: boolean, owner: AsyncDisposableStack): Promise<Rig> {
  const nats = owner.use(await NatsServer.start());
  const hostile = owner.use(await HostileClient.connect(nats.port));
  const instances = owner.use(await TestInstances.open({ config: { max_streams_per_account: MAX_STREAMS } }));
  const options = { nats: nats.options(), isSealed };
  const [first, second] = [await instances.start(options), await instances.start(options)];
  const account = await createAccount(instances.store, instances.clock, ["apps.exec"]);
  const asset = await createAsset(instances.store, instances.clock, account);
  const device = owner.use(await FakeDevice.connect(first.agentUrl, asset.deviceToken, { acknowledges: false }));
  void answerQueries(device);
  await waitFor("the bus to be up", async () => {
    const ready = await Promise.all([first, second].map((instance) => apiClient(instance, account).get("/readyz")));
    return ready.every(({ body }) => body["bus"] === "up");
  });
  return { first, second, account, asset, device, hostile };
}

async function answerQueries(device: FakeDevice): Promise<void> {
  // By itself, since `next` skips what others wait for.
  for (let at = 0; !device.isClosed; await setTimeout(1)) {
    for (; at < device.received.length; at++) {
      const query = device.received[at];
      if (query?.type !== "query") continue;
      const isLog = query.what === "logs";
      const line = { stream: "stdout", time: "2026-11-20T10:00:00Z", text: LOG_LINE };
      device.answer(query.query_id, isLog ? { lines: [line] } : { volumes: [], left_out: 0 });
      if (isLog) device.endQuery(query.query_id);
    }
  }
}

const path = ({ asset }: Rig, rest: string): string => `/v1/assets/${asset.uuid}/edge/${rest}`;
const get = async (rig: Rig, rest: string): Promise<number> =>
  (await apiClient(rig.second, rig.account).get(path(rig, rest))).status;

/** The subject to which an instance listens for others. */
async function subjectOf(rig: Rig, pattern: RegExp): Promise<string> {
  await get(rig, "volumes");
  const { subject } = await waitFor("a message", () => rig.hostile.captured.find((each) => pattern.test(each.subject)));
  return subject;
}

/** Asks the holder of the device as an instance would. Returns whether the device was reached. */
async function reachesDevice(rig: Rig, type: "query" | "stream_open", request: object): Promise<boolean> {
  const { hostile, device } = rig;
  const holder = await subjectOf(rig, /\.gw\./);
  const count = (): number => device.received.filter((frame) => frame.type === type).length;
  const before = count();
  const opening = { kind: "part", number: 0, taken: 0, isBodyEnd: true, isChannelEnd: false } as const;
  const channel = randomBytes(16).toString("hex");
  hostile.send(holder, encodeMessage({ ...opening, channel, sender: "ins_hostile", bytes: encodeJson(request) }));
  await hostile.flush();
  // Asked afterwards, on the same way.
  await get(rig, "volumes");
  return count() > before + (type === "query" ? 1 : 0);
}

const countsOf = (rig: Rig, count: number): string =>
  JSON.stringify({ from: "ins_hostile", counts: [[`queries:${rig.account.accountId}`, count]] });

const deploy = (rig: Rig, instance: TestInstance, name: string) =>
  openStream(instance.url + path(rig, "apps"), {
    apiKey: rig.account.apiKey,
    body: { name, image: "web:1", registry_auth: { username: "u", password: PASSWORD } },
  });

/** Each returns whether it has succeeded. */
const ATTACKS: readonly (readonly [what: string, attack: (rig: Rig) => Promise<boolean>])[] = [
  [
    "reads the log of an app",
    async (rig) => {
      expect(await get(rig, "apps/web/logs")).toBe(200);
      return rig.hostile.hasSeen(LOG_LINE);
    },
  ],
  [
    "reads the password of a registry that the instances hand each other",
    async (rig) => {
      using stream = await deploy(rig, rig.second, "read");
      // The holder has it from the instance of the client.
      const { options } = await rig.device.next("deploy");
      expect(options?.registry_auth).toMatchObject({ password: PASSWORD });
      rig.device.send({
        type: "refuse",
        deployment_id: stream.events[0]?.deployment_id,
        code: "PolicyDenied",
        message: "no",
      });
      await stream.ended;
      return rig.hostile.hasSeen(PASSWORD);
    },
  ],
  [
    "asks for the password of a registry",
    async (rig) => {
      using stream = await deploy(rig, rig.second, "asked");
      await rig.device.next("deploy");
      const seen = rig.hostile.captured.length;
      const question = { id: crypto.randomUUID(), from: "hostile", deployment: stream.events[0]?.deployment_id };
      rig.hostile.send("test.credentials", JSON.stringify(question));
      await rig.hostile.flush();
      await get(rig, "volumes");
      rig.device.send({ type: "refuse", deployment_id: question.deployment, code: "PolicyDenied", message: "no" });
      await stream.ended;
      return rig.hostile.captured
        .slice(seen)
        .some(({ bytes }) => Buffer.from(bytes).includes(question.id) && bytes.length > 0);
    },
  ],
  [
    "asks a device of any account",
    (rig) => reachesDevice(rig, "query", { type: "query", asset: rig.asset.uuid, what: "volumes", params: {} }),
  ],
  [
    "runs a command in an app of any account",
    (rig) =>
      reachesDevice(rig, "stream_open", {
        type: "stream",
        asset: rig.asset.uuid,
        kind: "exec",
        app: "web",
        params: { command: ["sh"] },
        credit: 1_000,
        by: "nobody",
      }),
  ],
  [
    "stops an account by forged counts",
    async (rig) => {
      rig.hostile.send("test.counts", countsOf(rig, 1_000_000));
      await rig.hostile.flush();
      await subjectOf(rig, /\.gw\./);
      const status = await get(rig, "volumes");
      rig.hostile.send("test.counts", countsOf(rig, 0));
      await rig.hostile.flush();
      return status === 429;
    },
  ],
  [
    "stops an account by counts of before, sent again",
    async (rig) => {
      const { hostile, first, second } = rig;
      const watch = ({ url }: TestInstance) => openStream(`${url}/v1/events`, { apiKey: rig.account.apiKey });
      const isRefused = async (): Promise<boolean> => {
        using stream = await watch(second);
        return stream.status === 429;
      };
      const seen = hostile.captured.length;
      const streams: EventStream[] = [];
      await waitFor("all streams of the account", async () => {
        const stream = await watch(first);
        // Those of before count a little longer.
        if (stream.status === 200) return streams.push(stream) === MAX_STREAMS;
        return stream[Symbol.dispose]();
      });
      await waitFor("the streams to be counted", isRefused);
      const counted = hostile.captured.slice(seen).filter(({ subject }) => subject === "test.counts");
      for (const stream of streams) stream[Symbol.dispose]();
      await waitFor("the streams to be over", async () => !(await isRefused()));
      for (const { subject, bytes } of counted) hostile.send(subject, bytes);
      await hostile.flush();
      await get(rig, "volumes");
      return await isRefused();
    },
  ],
];

describe.each([
  ["that do not seal", false],
  ["as they are", true],
])("on the bus of instances %s, somebody with its credentials", (_name, isSealed) => {
  const owner = new AsyncDisposableStack();
  let rig: Rig;
  beforeAll(async () => {
    rig = await start(isSealed, owner);
  });
  afterAll(() => owner.disposeAsync());

  test.each(ATTACKS)(`${isSealed ? "cannot:" : "can:"} %s`, async (_what, attack) => {
    expect(await attack(rig)).toBe(!isSealed);
  });

  test("cannot: stop the service with messages, many or large", async () => {
    const { hostile } = rig;
    const subjects = [await subjectOf(rig, /\.gw\./), "test.counts", "test.access", "test.fleets"];
    const genuine = hostile.captured.filter(({ subject }) => subject === subjects[0]).map(({ bytes }) => bytes);
    for (let count = 0; count < FLOOD; count++) {
      const forged = Uint8Array.from(genuine[count % genuine.length] ?? []);
      if (count % 4 < 3) forged[5 + (count % 30)] = count & 255;
      hostile.send(subjects[count % subjects.length] ?? "", forged);
    }
    for (let count = 0; count < 20; count++) hostile.send(subjects[count % 4] ?? "", randomBytes(1_000_000));
    await hostile.flush();
    await waitFor("an answer", async () => (await get(rig, "volumes")) === 200);
  });
});
