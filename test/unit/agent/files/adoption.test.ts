import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { adoptApps } from "../../../../src/agent/steps/adopt-apps.ts";
import { AppReconciler } from "../../../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "../../../support/agent-rig.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const IMAGE = "example/app:1";
const FILES = [
  { target: "/etc/app.conf", content: "answer = 42\n" },
  { target: "/run/secrets/token", content: "a token of the app", secret: true, owner: "5:6" },
];
const signal = new AbortController().signal;

/** An agent whose store was lost while an app with files runs. */
async function afterTheLoss(): Promise<{ rig: AgentRig; stateDir: string; before: unknown }> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const rig = new AgentRig({ stateDir: directory.path });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  rig.engine.addImage(IMAGE);
  rig.deployments.deploy("d1", {
    name: "app",
    image: IMAGE,
    files: FILES,
    volumes: [{ local: "/srv", target: "/data" }],
  });
  await rig.untilEnd("d1");
  const before = rig.store.apps()[0]!.spec;
  for (const { event } of rig.store.pendingEvents(0, 100)) rig.store.acknowledge("d1", event.device_seq);
  rig.store.save({ removedApp: "app" });
  expect(rig.store.apps()).toEqual([]);
  return { rig, stateDir: directory.path, before };
}

const reconcilerOf = (rig: AgentRig, isSet: boolean): AppReconciler => {
  const rebuild = { isSet, clear: () => void (rebuild.isSet = false) };
  return new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
};

const readBack = (rig: AgentRig): unknown =>
  rig.store.apps()[0]!.spec.files!.map(({ sha256, secret_id }) => {
    return rig.store.fileContent((secret_id ?? sha256)!)?.toString();
  });

it("an app is adopted with its files, which are no volumes, and can be created again", async () => {
  const { rig, stateDir, before } = await afterTheLoss();
  await reconcilerOf(rig, true).reconcile(signal);
  expect(rig.store.apps()[0]?.spec).toEqual(before);
  expect(readBack(rig)).toEqual(FILES.map(({ content }) => content));
  rmSync(join(stateDir, "files"), { recursive: true });
  await rig.engine.removeContainer(rig.engine.container("app")!.id, signal);
  await reconcilerOf(rig, false).reconcile(signal);
  expect(rig.engine.container("app")?.request.files).toHaveLength(2);
});

it("an app whose files are lost is adopted all the same, and says so when it is to be created", async () => {
  const { rig, stateDir } = await afterTheLoss();
  rmSync(join(stateDir, "files"), { recursive: true });
  await adoptApps(rig.services, signal);
  expect(readBack(rig)).toEqual([undefined, undefined]);
  expect(rig.log.join("")).toContain("could not be read back");
  await rig.engine.removeContainer(rig.engine.container("app")!.id, signal);
  await reconcilerOf(rig, false).reconcile(signal);
  expect(rig.engine.container("app")).toBeUndefined();
  expect(rig.log.join("")).toContain("the content of /etc/app.conf is not on the device any more; send the app again");
  rig.deployments.change("d2", { action: "update", app: "app", spec: { files: FILES } });
  expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
});

it("an app is adopted later if the engine does not answer meanwhile", async () => {
  const { rig, stateDir } = await afterTheLoss();
  rmSync(join(stateDir, "files"), { recursive: true });
  rig.engine.faults.fail("readDeviceFiles", new EngineError("unavailable", "gone"));
  await expect(adoptApps(rig.services, signal)).rejects.toThrow("gone");
  expect(rig.store.apps()).toEqual([]);
});
