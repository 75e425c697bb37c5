import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import { createAccount, createAsset, type TestAccount } from "../../support/control-plane.ts";
import { type TestInstance, TestInstances } from "../../support/control-plane/test-instances.ts";
import { openStream } from "../../support/event-stream.ts";
import { imageOf } from "../../support/fleets/fleet-rig.ts";
import { type Behaviour, SimulatedDevice } from "../../support/fleets/simulated-device.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();
const FLEET = "/v1/fleets/kiosks";

interface Device {
  readonly uuid: string;
  readonly device: SimulatedDevice;
}

/** Two instances on one database. The first looks after the rollouts; devices are at both by turns. */
interface Pair {
  readonly leader: TestInstance;
  readonly other: TestInstance;
  readonly account: TestAccount;
  readonly devices: readonly Device[];
  readonly instances: TestInstances;
}

describe.skipIf(reason !== undefined)(`fleets at two instances${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  beforeAll(async () => {
    databases = await PostgresDatabases.start();
  });
  afterAll(() => databases[Symbol.asyncDispose]());

  const startPair = async (count: number, strategy: object): Promise<Pair> => {
    const database = await databases.take();
    onTestFinished(() => database[Symbol.asyncDispose]());
    const instances = await TestInstances.open({ openStore: () => openPostgresStore(database.options) });
    onTestFinished(() => instances[Symbol.asyncDispose]());
    const { store, clock } = instances;
    const leader = await instances.start();
    // Nobody else gets the lease while the first one has it.
    await waitFor("the first instance to have the lease", async () => {
      const nowMs = clock.now();
      const isFree = (await store.leases.acquire("fleets", "ins_test", nowMs, nowMs + 1)) !== undefined;
      if (isFree) await store.leases.release("fleets", "ins_test");
      return !isFree;
    });
    const other = await instances.start();
    const account = await createAccount(store, clock);
    const devices: Device[] = [];
    for (let index = 0; index < count; index++) {
      const { uuid, deviceToken } = await createAsset(store, clock, account);
      await send({ other, account }, "PUT", `/v1/assets/${uuid}/tags`, { role: "kiosk" });
      const device = new SimulatedDevice((index % 2 === 0 ? leader : other).agentUrl, deviceToken);
      onTestFinished(() => device[Symbol.asyncDispose]());
      await device.connect();
      devices.push({ uuid, device });
    }
    const pair = { leader, other, account, devices, instances };
    const fleet = { name: "kiosks", selector: "role=kiosk", apps: ["web"], strategy: { soak_s: 0, ...strategy } };
    await send(pair, "POST", "/v1/fleets", fleet);
    await revision(pair, "one");
    return pair;
  };

  test("a rollout reaches the devices of both; when the one that looks after it dies, the other goes on", async () => {
    const pair = await startPair(8, { max_parallel: 2, waves: [{ limit: 2, soak_s: 0 }] });
    const { leader, other, devices } = pair;
    const id = await rollOut(pair);
    await waitFor("some to have begun", () => reached(pair, "one") >= 3);
    leader.kill();
    for (const [index, { device }] of devices.entries()) {
      if (index % 2 !== 0) continue;
      await device.disconnect();
      await device.connect(other.agentUrl);
    }
    await reach(pair, id, "succeeded");
    for (const { device } of devices) {
      expect(device.received).toHaveLength(1);
      expect(device.apps.get("web")?.image).toBe(imageOf("one"));
    }
  });

  test("a pause asked at the other instance lets nothing begin once it is answered; then it is resumed, and cancelled", async () => {
    const pair = await startPair(16, { max_parallel: 2 });
    // The first ones are at work until the pause was answered.
    const work = Promise.withResolvers<Behaviour>();
    for (const { device } of pair.devices) device.behave = () => work.promise;
    const id = await rollOut(pair);
    await waitFor("some to have begun", () => reached(pair, "one") > 0);
    await send(pair, "POST", `${FLEET}/rollouts/${id}/pause`);
    const begun = await begunTargets(pair, id);
    expect(begun.length).toBeLessThan(16);
    work.resolve("succeed");
    await settle(pair, id);
    expect(await begunTargets(pair, id)).toEqual(begun);
    expect(reached(pair, "one")).toBe(begun.length);
    await send(pair, "POST", `${FLEET}/rollouts/${id}/resume`);
    await waitFor("more to have begun", async () => (await begunTargets(pair, id)).length > begun.length);
    await send(pair, "POST", `${FLEET}/rollouts/${id}/cancel`);
    const last = await begunTargets(pair, id);
    await settle(pair, id);
    expect(await begunTargets(pair, id)).toEqual(last);
    expect(await send(pair, "GET", `${FLEET}/rollouts/${id}`)).toMatchObject({ state: "cancelled" });
    expect(reached(pair, "one")).toBe(last.length);
  });

  test("going back asked at the other instance reaches all; its stream is read there to the end; deployments by hand go on beside", async () => {
    const pair = await startPair(6, { max_parallel: 2, waves: [{ limit: 3, soak_s: 0, advance: "manual" }] });
    const { other, account, devices } = pair;
    const first = await rollOut(pair);
    await waitFor("the first wave", () => reached(pair, "one") === 3);
    await settle(pair, first);
    await send(pair, "POST", `${FLEET}/rollouts/${first}/advance`);
    await reach(pair, first, "succeeded");
    await revision(pair, "two");
    const id = await rollOut(pair);
    using stream = await openStream(`${other.url}${FLEET}/rollouts/${id}/events`, {
      apiKey: account.apiKey,
      method: "GET",
    });
    await waitFor("the first wave to have it", () => reached(pair, "two") === 3);
    const byHand = devices.at(-1);
    const group = { project: "tools", apps: [{ app: { name: "probe", image: imageOf("probe") } }] };
    using deployment = await openStream(`${other.url}/v1/assets/${byHand?.uuid}/edge/apply`, {
      apiKey: account.apiKey,
      body: group,
    });
    await send(pair, "POST", `${FLEET}/rollouts/${id}/rollback`);
    await reach(pair, id, "rolled_back");
    expect(await deployment.ended).toBe(true);
    expect(deployment.events.at(-1)).toMatchObject({ status: "Success" });
    expect(await stream.ended).toBe(true);
    const seqs = stream.events.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(stream.events.at(-1)).toMatchObject({ state: "rolled_back" });
    for (const { device } of devices) expect(device.apps.get("web")?.image).toBe(imageOf("one"));
    expect(byHand?.device.apps.get("probe")?.image).toBe(imageOf("probe"));
  });
});

/** Asks the instance that does not look after rollouts. */
async function send(
  { other, account }: Pick<Pair, "other" | "account">,
  method: "GET" | "POST" | "PUT",
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(other.url + path, {
    method,
    headers: { "X-API-Key": account.apiKey, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const parsed = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(parsed)}`);
  return parsed;
}

async function revision(pair: Pair, version: string): Promise<void> {
  await send(pair, "POST", `${FLEET}/revisions`, { apps: [{ app: { name: "web", image: imageOf(version) } }] });
}

async function rollOut(pair: Pair, body: object = {}): Promise<string> {
  return String((await send(pair, "POST", `${FLEET}/rollouts`, body))["id"]);
}

async function targets(pair: Pair, id: string): Promise<readonly Record<string, unknown>[]> {
  return (await send(pair, "GET", `${FLEET}/rollouts/${id}/targets`))["targets"] as Record<string, unknown>[];
}

async function begunTargets(pair: Pair, id: string): Promise<readonly unknown[]> {
  const all = await targets(pair, id);
  return all.filter(({ attempt }) => Number(attempt) > 0).map(({ asset_id: asset }) => asset);
}

/** Resolves when nothing is under way. */
async function settle(pair: Pair, id: string): Promise<void> {
  await waitFor("what was begun to end", async () =>
    (await targets(pair, id)).every(({ state }) => state !== "deploying" && state !== "soaking"),
  );
}

async function reach(pair: Pair, id: string, state: string): Promise<void> {
  await waitFor(`the rollout to be ${state}`, async () => {
    const rollout = await send(pair, "GET", `${FLEET}/rollouts/${id}`);
    if (rollout["state"] === state) return true;
    throw new Error(JSON.stringify([rollout, await targets(pair, id)]));
  });
}

/** The number of devices that were given this version. */
function reached({ devices }: Pair, version: string): number {
  return devices.filter(({ device }) => device.received.some(({ images }) => images.includes(imageOf(version)))).length;
}
