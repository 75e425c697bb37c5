import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { contentId } from "../../src/agent/core/app/files.ts";
import { newApp, newRecord } from "../../src/agent/core/records.ts";
import { openStore as openAgentStore } from "../../src/agent/store/open-store.ts";
import { openSqliteReader } from "../../src/agent/store/sqlite-store.ts";
import type { AgentStore } from "../../src/agent/store/store.ts";
import { connectedIn } from "../../src/control-plane/core/connection.ts";
import { acknowledge, fail, applyDeviceEvent } from "../../src/control-plane/core/transitions.ts";
import { truncateWal } from "../../src/lib/sqlite.ts";
import { openStore as openControlStore } from "../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../src/control-plane/store/store.ts";
import type { StoredFile } from "../../src/protocol/apps/app-files.ts";
import { parseAppSpec } from "../../src/protocol/apps/app-spec.ts";
import type { EventContent } from "../../src/protocol/deployments/deployment-event.ts";
import { readFiles, tornFiles, writeFiles } from "../support/chaos/power-loss.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { receivedDeployment } from "../support/deployment-record.ts";
import { tempDir } from "../support/temp-dir.ts";
import { createDeployment, updateDeployment } from "../support/store-deployment.ts";

/*
 * Simulates a power loss before, during and after every write to the stores: earlier data survives, and so does the
 * written data once the write has returned.
 */

const FULL = process.env["CHAOS"] === "full";
const SAMPLES = FULL ? 20 : 2;
const DEPLOYMENTS = FULL ? 200 : 12;

/** The power loss is simulated, so that flushing to a real disk would only take longer. */
const IN_MEMORY = "/dev/shm";

const seed = firstSeed();
const parsed = parseAppSpec({
  name: "app",
  image: "example/app:1",
  environments: [{ key: "A", value: "x".repeat(500) }],
});
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

const running: EventContent = { status: "Running", step: "creating", message: "Creating the container." };
const success: EventContent = { status: "Success", step: "done", message: "The app runs." };
const failure: EventContent = { status: "Fail", step: "done", message: "It crashed.", code: "CrashLoopBackOff" };

function openAgent(directory: string): AgentStore {
  const logger = pino({ level: "silent" });
  return openAgentStore({ directory, clock: new FakeClock(), bootId: "boot", logger }).store;
}

function everythingIn(store: AgentStore): unknown {
  const [deployments, apps] = [store.deployments(), store.apps()];
  // A record and the contents of its files are written together, and are there together.
  const ids = [...deployments, ...apps].flatMap((record) => record.spec?.files ?? []).map(contentId);
  const contents = ids.map((id) => {
    const content = store.fileContent(id);
    if (!content) throw new Error(`the content ${id} is missing, and a record has it`);
    return Buffer.from(content).toString();
  });
  return JSON.stringify([deployments, apps, contents, store.pendingEvents(0, 10_000), store.history(1_000)]);
}

/** A file of an app, and its content: of every second one a secret, which has a random id. */
function fileOf(order: number): { readonly file: StoredFile; readonly content: Uint8Array } {
  const content = Buffer.from(`content ${order} `.repeat(40));
  const key = order % 2 === 0 ? { sha256: `hash-${order}` } : { secret_id: `secret-${order}`, secret: true };
  return { file: { target: "/etc/app.conf", size: content.length, mode: "0400", ...key }, content };
}

/** The writes of one deployment on the device. */
function* deviceWrites(store: AgentStore, order: number): Generator<() => void> {
  const { file, content } = fileOf(order);
  const withFile = { ...spec, files: [file] };
  const record = newRecord(`d${order}`, order, withFile);
  const facts = { deploymentId: record.id, imageId: "sha256:1", containerId: "c1" };
  const app = { ...newApp(withFile, facts), name: `app${order % 20}` };
  const isGood = order % 3 !== 0;
  const fileContents = new Map([[contentId(file), content]]);
  yield () => store.save({ deployment: record, events: [running], fileContents });
  yield () => store.save({ deployment: { ...record, checked: true, imageId: "sha256:1" }, events: [running, running] });
  yield () =>
    isGood
      ? store.save({ deployment: { ...record, outcome: "succeeded" }, events: [success], app })
      : store.save({ deployment: { ...record, outcome: "failed" }, events: [failure] });
  if (order % 4 !== 0) yield () => store.acknowledge(record.id, 4);
}

describe(`a power loss (seed ${seed})`, () => {
  it("during any write of the agent loses no stored data and leaves no partial write", async () => {
    await using home = await tempDir(IN_MEMORY);
    const random = new SeededRandom(seed);
    const live = join(home.path, "live");
    const copy = join(home.path, "copy");
    writeFiles({ "": Buffer.alloc(0), "-wal": Buffer.alloc(0) }, live, "agent.db");
    using store = openAgent(live);
    let tried = 0;
    const found = (files: ReturnType<typeof readFiles>): unknown => {
      writeFiles(files, copy, "agent.db");
      using again = openAgent(copy);
      tried++;
      return everythingIn(again);
    };
    for (let order = 1; order <= DEPLOYMENTS; order++) {
      for (const write of deviceWrites(store, order)) {
        const [filesBefore, stateBefore] = [readFiles(join(live, "agent.db")), everythingIn(store)];
        write();
        const [filesAfter, stateAfter] = [readFiles(join(live, "agent.db")), everythingIn(store)];
        expect(found(filesAfter)).toBe(stateAfter);
        for (const files of tornFiles(filesBefore, filesAfter, random, SAMPLES)) {
          expect([stateBefore, stateAfter]).toContain(found(files));
        }
      }
    }
    console.log(`agent's store: ${tried} states of the disk tried`);
  });

  it("while the agent's store is rewritten loses nothing", async () => {
    await using home = await tempDir(IN_MEMORY);
    const random = new SeededRandom(seed);
    const [live, copy] = [join(home.path, "live"), join(home.path, "copy")];
    const path = writeFiles({ "": Buffer.alloc(0), "-wal": Buffer.alloc(0) }, live, "agent.db");
    {
      using store = openAgent(live);
      for (let order = 1; order <= 12; order++) for (const write of deviceWrites(store, order)) write();
      store.save({ removedApp: "app1" });
    }
    const stateOf = (): unknown => {
      using store = openSqliteReader({ path, clock: new FakeClock(), bootId: "boot" });
      return everythingIn(store);
    };
    const state = stateOf();
    // The steps of `scrub`: write a copy to the log, copy the log into the database, truncate the log.
    const database = new DatabaseSync(path);
    // The first access makes the log.
    database.prepare("SELECT name FROM apps").all();
    const before = readFiles(path);
    database.exec("VACUUM");
    const copied = readFiles(path);
    expect(copied[""]).toEqual(before[""]);
    expect(truncateWal(database)).toBe(true);
    const moved = { ...readFiles(path), "-wal": copied["-wal"] };
    expect(moved[""]).not.toEqual(before[""]);
    database.close();
    const states = [
      ...tornFiles(before, copied, random, 50),
      ...tornFiles(copied, moved, random, 50),
      readFiles(path),
      { ...moved, "-wal": Buffer.alloc(0) },
    ];
    for (const files of states) {
      writeFiles(files, copy, "agent.db");
      using again = openAgent(copy);
      expect(everythingIn(again)).toBe(state);
    }
  });

  it("during any write of the control plane loses no stored data and leaves no partial write", async () => {
    await using home = await tempDir(IN_MEMORY);
    const random = new SeededRandom(seed);
    const live = join(home.path, "live");
    const copy = join(home.path, "copy");
    const path = writeFiles({ "": Buffer.alloc(0), "-wal": Buffer.alloc(0) }, live, "control.db");
    await using store = openControlStore(path);
    await prepare(store);
    let tried = 0;
    const found = async (files: ReturnType<typeof readFiles>): Promise<string> => {
      await using again = openControlStore(writeFiles(files, copy, "control.db"));
      tried++;
      return await everythingOn(again);
    };
    for (let number = 1; number <= DEPLOYMENTS / 3; number++) {
      for (const write of serviceWrites(store, number)) {
        const [filesBefore, stateBefore] = [readFiles(path), await everythingOn(store)];
        await write();
        const [filesAfter, stateAfter] = [readFiles(path), await everythingOn(store)];
        expect(await found(filesAfter)).toBe(stateAfter);
        for (const files of tornFiles(filesBefore, filesAfter, random, SAMPLES)) {
          expect([stateBefore, stateAfter]).toContain(await found(files));
        }
      }
    }
    console.log(`control plane's store: ${tried} states of the disk tried`);
  });

  it("may lose a session of a device, but none while a write for it is there, and gives no id of an event twice", async () => {
    await using home = await tempDir(IN_MEMORY);
    const random = new SeededRandom(seed);
    const [live, copy] = [join(home.path, "live"), join(home.path, "copy")];
    const path = writeFiles({ "": Buffer.alloc(0), "-wal": Buffer.alloc(0) }, live, "control.db");
    await using store = openControlStore(path);
    await prepare(store);
    const { lastEvent, ...received } = receivedDeployment();
    if (!lastEvent) throw new Error("the received deployment has no event");
    await createDeployment(store.deployments, { ...received, lastEvent: undefined, lastSeq: 0 }, lastEvent);
    const stateOf = async ({ deployments, sessions }: Store): Promise<string> => {
      const { connection } = (await deployments.findDeployment(received.id)) ?? { connection: undefined };
      return JSON.stringify({ connection, session: await sessions.find(ASSET) });
    };
    const given = { assetUuid: ASSET, sessionId: "s", instanceId: "ins_1", protocol: 3, at: 1 };
    let lost = 0;
    for (let count = 0; count < DEPLOYMENTS; count++) {
      const states = [await stateOf(store)];
      const before = readFiles(path);
      const session = await store.sessions.open(given);
      if (!session) throw new Error("the asset is registered");
      states.push(await stateOf(store));
      const fence = { assetUuid: ASSET, epoch: session.epoch };
      const connection = connectedIn(session.epoch);
      await updateDeployment(store.deployments, received.id, () => ({ fields: { connection } }), fence);
      states.push(await stateOf(store));
      const { lastId } = await store.accountEvents.read(ACCOUNT, 0, 1);
      // Only the second write was synced: until then nothing of either need be on disk, or a part of the first.
      for (const files of tornFiles(before, readFiles(path), random, 4 * SAMPLES)) {
        await using again = openControlStore(writeFiles(files, copy, "control.db"));
        const state = await stateOf(again);
        expect(states).toContain(state);
        if (state === states[0]) {
          lost++;
          // As at each start of the service. Somebody may have read the event of the session that is lost.
          await again.accountEvents.prepare();
          expect((await again.accountEvents.read(ACCOUNT, 0, 1)).lastId).toBeGreaterThanOrEqual(lastId);
        }
      }
      await using again = openControlStore(writeFiles(readFiles(path), copy, "control.db"));
      expect(await stateOf(again)).toBe(states[2]);
      if (count % 4 === 3) expect(await store.truncateWal()).toBe(true);
    }
    expect(lost).toBeGreaterThan(0);
  });

  it("during writes of many devices at once loses nothing that was answered and leaves no partial write", async () => {
    await using home = await tempDir(IN_MEMORY);
    const random = new SeededRandom(seed);
    const live = join(home.path, "live");
    const copy = join(home.path, "copy");
    const path = writeFiles({ "": Buffer.alloc(0), "-wal": Buffer.alloc(0) }, live, "control.db");
    await using store = openControlStore(path);
    await prepare(store);
    let tried = 0;
    const found = async (files: ReturnType<typeof readFiles>): Promise<Map<string, string>> => {
      await using again = openControlStore(writeFiles(files, copy, "control.db"));
      tried++;
      return await deploymentsOn(again);
    };
    const writers = Array.from({ length: DEPLOYMENTS / 2 }, (_, index) => serviceWrites(store, index + 1));
    for (let step = 0; step < 4; step++) {
      const [filesBefore, before] = [readFiles(path), await deploymentsOn(store)];
      // At the end of each write, what is on the disk by then.
      const answered: ReturnType<typeof readFiles>[] = [];
      const write = async (writer: (typeof writers)[number]): Promise<void> => {
        await writer.next().value?.();
        answered.push(readFiles(path));
      };
      await Promise.all(writers.map(write));
      const [filesAfter, after] = [readFiles(path), await deploymentsOn(store)];
      expect(after.size).toBe(writers.length);
      const orders = [...after.keys()];
      for (const [count, files] of answered.entries()) {
        const onDisk = await found(files);
        const stored = orders.filter((id) => onDisk.get(id) === after.get(id));
        expect(stored.length).toBeGreaterThan(count);
      }
      for (const files of tornFiles(filesBefore, filesAfter, random, SAMPLES)) {
        for (const [id, state] of await found(files)) expect([before.get(id), after.get(id)]).toContain(state);
      }
    }
    console.log(`control plane's store, many devices: ${tried} states of the disk tried`);
  });
});

const { accountId: ACCOUNT, assetUuid: ASSET } = receivedDeployment();

async function everythingOn({ deployments }: Store): Promise<string> {
  const { deployments: all } = await deployments.listDeployments(ASSET, 1_000);
  return JSON.stringify([all, await Promise.all(all.map(({ id }) => deployments.readEvents(id, 0, 100)))]);
}

async function deploymentsOn({ deployments }: Store): Promise<Map<string, string>> {
  const { deployments: all } = await deployments.listDeployments(ASSET, 1_000);
  const states = all.map(async (deployment) => {
    return [
      deployment.id,
      JSON.stringify([{ ...deployment, accountStoredBytes: 0 }, await deployments.readEvents(deployment.id, 0, 100)]),
    ] as const;
  });
  return new Map(await Promise.all(states));
}

async function prepare(store: Store): Promise<void> {
  await store.accounts.createAccount({ id: ACCOUNT, name: "test", createdAt: 1 });
  const asset = { uuid: ASSET, accountId: ACCOUNT, serialNumber: "SN-1", name: "", type: "gateway", createdAt: 1 };
  await store.assets.registerAsset({ ...asset, supersim: undefined, prosim: undefined }, Buffer.from("hash"));
}

/** The writes of one deployment in the service. */
function* serviceWrites({ deployments }: Store, number: number): Generator<() => Promise<unknown>> {
  const id = `dep_${number}`;
  const { lastEvent, ...deployment } = receivedDeployment({ id });
  if (!lastEvent) throw new Error("the received deployment has no event");
  const first = { ...lastEvent, deployment_id: id };
  yield () => createDeployment(deployments, { ...deployment, lastEvent: undefined, lastSeq: 0 }, first);
  yield () => updateDeployment(deployments, id, (current) => acknowledge(current, 2, 1));
  yield () =>
    updateDeployment(deployments, id, (current) => applyDeviceEvent(current, { ...running, device_seq: 1 }, 3, 1));
  yield () => updateDeployment(deployments, id, (current) => fail(current, 4, "DeploymentTimeout"));
}
