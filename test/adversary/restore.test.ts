import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LABELS } from "../../src/agent/core/app/container.ts";
import { openSnapshot } from "../../src/lib/sqlite-snapshot.ts";
import { isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import type { EventStream } from "../support/event-stream.ts";
import { bigImage, sleeperImage } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { SlowLink } from "../support/slow-link.ts";
import { listContainers } from "../support/system/engine-containers.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import type { AppRequest } from "../support/system.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * edge-control's database is restored to a time in the middle of a deployment, after its success was streamed. The
 * device must keep the streamed result, and the record must show it.
 */

const system = sharedSystem(() => ({ agentConfig: { deploy: { settle_window_s: 2, stop_grace_s: 3 } } }));

const databaseFiles = async (): Promise<string[]> =>
  (await readdir(system().control.dataDir)).filter((name) => /^edge-control\.sqlite(?:-wal|-shm)?$/.test(name));

/** Pauses the agent while the database is copied, so that the copy shows the awaited stage. */
async function withoutAgent(work: () => Promise<void>): Promise<void> {
  system().agent.signal("SIGSTOP");
  try {
    await work();
  } finally {
    system().agent.signal("SIGCONT");
  }
}

interface Method {
  readonly save: (target: string) => Promise<void>;
  readonly putBack: (source: string) => Promise<void>;
}

const backupCommand: Method = {
  save: async (target) => void (await system().control.administer("backup", target)),
  async putBack(source) {
    await system().control.stop();
    await system().control.administer("restore", source);
    await system().control.start();
  },
};

const putFilesBack = async (source: string): Promise<void> => {
  const { control } = system();
  await control.stop();
  for (const name of await databaseFiles()) await rm(join(control.dataDir, name));
  await copyFile(source, join(control.dataDir, "edge-control.sqlite"));
  await control.start();
};

/** A copy of the database files, against the manual. */
const copiedFiles: Method = {
  async save(target) {
    const { control } = system();
    expect(await control.stop()).toBe(0);
    expect(await databaseFiles()).toEqual(["edge-control.sqlite"]);
    await copyFile(join(control.dataDir, "edge-control.sqlite"), target);
    await control.start();
  },
  putBack: putFilesBack,
};

const backupCopiedBack: Method = { save: backupCommand.save, putBack: putFilesBack };

/** Opens a deployment. Resolves when it has reached the stage. */
interface Stage {
  readonly open: () => Promise<EventStream>;
  readonly reached: (stream: EventStream) => Promise<unknown>;
}

const at =
  (step: string) =>
  (stream: EventStream): Promise<unknown> =>
    stream.event(step, (event) => event.step === step);

async function sleeper(): Promise<AppRequest> {
  return { name: system().name(), image: await system().load(await sleeperImage()) };
}

/** Deploys an app to be changed and returns its name. */
async function installed(): Promise<string> {
  const app = await sleeper();
  expect((await system().deploy(app)).final.status).toBe("Success");
  return app.name;
}

async function slowApp(): Promise<AppRequest> {
  const registry = await Registry.start();
  onTestFinished(() => registry[Symbol.asyncDispose]());
  const link = await SlowLink.to(registry.port, 2_000_000);
  onTestFinished(() => link[Symbol.asyncDispose]());
  const image = await registry.push(await bigImage(6), "team/slow:1");
  return { name: system().name(), image: system().removeImageLater(image.replace(registry.host, link.host)) };
}

const STAGES = {
  "a deployment that pulls": {
    open: async () => system().open(await slowApp()),
    reached: (stream: EventStream) => stream.event("progress", ({ progress }) => progress !== undefined),
  },
  "a deployment before its success": { open: async () => system().open(await sleeper()), reached: at("verifying") },
  "an update": {
    open: async () =>
      system().change("PATCH", await installed(), undefined, { environments: [{ key: "A", value: "1" }] }),
    reached: at("verifying"),
  },
  "a removal": { open: async () => system().change("DELETE", await installed()), reached: at("stopping") },
  "a stop": { open: async () => system().change("POST", await installed(), "stop"), reached: at("stopping") },
} satisfies Record<string, Stage>;

const METHODS = {
  "backup and restore": backupCommand,
  "its files copied": copiedFiles,
  "a backup copied": backupCopiedBack,
};

type Case = readonly [stage: keyof typeof STAGES, method: keyof typeof METHODS];

// What the device is asked about each kind of change does not depend on how the database got back: see
// test/unit/control-plane/core/resolve-outcome.test.ts.
const cases: readonly Case[] = [
  ["a deployment that pulls", "backup and restore"],
  ["a deployment before its success", "backup and restore"],
  ["an update", "backup and restore"],
  ["a removal", "backup and restore"],
  ["a stop", "backup and restore"],
  ["a deployment that pulls", "its files copied"],
  ["a removal", "its files copied"],
  ["a stop", "a backup copied"],
];

test.each(cases)("%s, %s: the reported result stays", async (stage, method) => {
  const [parts, how] = [STAGES[stage], METHODS[method]];
  const target = join(system().directory, `${system().name("copy")}.sqlite`);
  const first = await parts.open();
  await parts.reached(first);
  const id = first.deploymentId;
  await withoutAgent(async () => {
    expect(await system().record(id)).toMatchObject({ status: "Running" });
    await how.save(target);
  });
  expect((await system().finish(await system().follow(id))).final).toMatchObject({ status: "Success" });
  await untilAcknowledged(id);
  await expectToStay(id, () => how.putBack(target));
});

test("a deployment its device has not acknowledged yet, backup and restore: the reported result stays", async () => {
  const target = join(system().directory, `${system().name("copy")}.sqlite`);
  const app = await sleeper();
  system().agent.signal("SIGSTOP");
  let stream: EventStream;
  try {
    stream = await system().open(app);
    await at("received")(stream);
    await backupCommand.save(target);
  } finally {
    system().agent.signal("SIGCONT");
  }
  const { final, deploymentId } = await system().finish(stream);
  expect(final.status).toBe("Success");
  await untilAcknowledged(deploymentId);
  await expectToStay(deploymentId, () => backupCommand.putBack(target));
});

test("deployments made after the backup continue, and their apps are listed", async () => {
  const target = join(system().directory, `${system().name("copy")}.sqlite`);
  await backupCommand.save(target);
  const app = await sleeper();
  const made = await system().deploy(app);
  expect(made.final.status).toBe("Success");
  await untilAcknowledged(made.deploymentId);
  const slow = await slowApp();
  const going = await system().open(slow);
  await going.event("progress", ({ progress }) => progress !== undefined);
  await backupCommand.putBack(target);
  await system().untilOnline();
  const running = (id: string) => async (): Promise<boolean> =>
    (await system().containersOf(id)).some(({ State }) => State === "running");
  await waitFor("the deployment to go on", running(going.deploymentId));
  await untilAcknowledged(going.deploymentId);
  await expectDeviceToServe();
  expect(await running(made.deploymentId)()).toBe(true);
  expect(await running(going.deploymentId)()).toBe(true);
  expect(await system().record(made.deploymentId)).toMatchObject({ code: "DeploymentNotFound" });
  await waitFor("both apps to be listed", async () => {
    const names = await listedApps();
    return names.includes(app.name) && names.includes(slow.name);
  });
});

/** Restores the database and checks that the record shows the reported result and the device is unchanged. */
async function expectToStay(id: string, putBack: () => Promise<void>): Promise<void> {
  const before = await containers();
  await putBack();
  await system().untilOnline();
  const whole = await system().finish(await system().follow(id));
  expect(whole.final).toMatchObject({ status: "Success", details: { recovered: true } });
  expect(whole.events.filter(isFinal)).toHaveLength(1);
  expect(await system().record(id)).toMatchObject({ status: "Success", last_seq: whole.final.seq });
  await expectDeviceToServe();
  expect(await containers()).toEqual(before);
}

/** Asks the device for another change: earlier frames to it are handled by its end. */
async function expectDeviceToServe(): Promise<void> {
  const { final } = await system().finish(await system().change("DELETE", "no-such-app"));
  expect(final).toMatchObject({ status: "Fail", code: "AppNotFound" });
}

/** Id and state of the tests' containers. */
async function containers(): Promise<string[]> {
  const { engineSocket, prefix } = system();
  const all = await listContainers(engineSocket);
  return all
    .filter(({ Labels }) => Labels?.[LABELS.app]?.startsWith(prefix))
    .map(({ Id, State }) => `${Id} ${State}`)
    .toSorted();
}

/** Waits until the device has the acknowledgement of the final event and has removed the deployment. */
async function untilAcknowledged(id: string): Promise<void> {
  await waitFor("the end to be acknowledged", () => {
    using database = openSnapshot(join(system().agent.stateDir, "agent.db"));
    return database.prepare("SELECT 1 FROM deployments WHERE id = ?").get(id) === undefined;
  });
}

async function listedApps(): Promise<string[]> {
  const { control, asset, account } = system();
  const response = await fetch(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    headers: { "X-API-Key": account.apiKey },
  });
  const { apps } = (await response.json()) as { apps: { name: string }[] };
  return apps.map(({ name }) => name);
}
