import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { expect, it, onTestFinished } from "vitest";
import { AppReconciler } from "../../../../src/agent/steps/app-reconciler.ts";
import { type DirectoryEntry, writeDirectoryArchive } from "../../../../src/lib/directory-archive.ts";
import { AgentRig } from "../../../support/agent-rig.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const IMAGE = "example/app:1";
const TARGET = "/etc/app";
const CONF = { target: "/etc/other.conf", content: "other\n" };
const signal = new AbortController().signal;

const POLICY = { privileged: true, host_network: true, mounts: { allow: [], deny: [] }, registries: { allow: [] } };

async function newRig(policy: object = {}): Promise<{ rig: AgentRig; stateDir: string }> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const rig = new AgentRig({ stateDir: directory.path, policy: { ...POLICY, ...policy } });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  rig.engine.addImage(IMAGE);
  return { rig, stateDir: directory.path };
}

const entry = (path: string, text: string, mode = 0o444): DirectoryEntry => ({
  path,
  mode,
  content: Buffer.from(text),
});

/** More files than may come one by one, in folders, with a program and an empty folder. */
const ENTRIES: readonly DirectoryEntry[] = [
  ...Array.from({ length: 70 }, (_, index) => entry(`conf.d/${index % 10}/${index}.conf`, `value = ${index}\n`)),
  entry("start.sh", "#!/bin/sh\n", 0o555),
  { path: "empty", mode: 0o755 },
];

const directoryOf = (entries: readonly DirectoryEntry[]) => ({
  target: TARGET,
  directory: true,
  content_gzip: gzipSync(writeDirectoryArchive(entries)).toString("base64"),
});

async function deployed(rig: AgentRig, ...files: readonly object[]): Promise<void> {
  rig.deployments.deploy("d1", { name: "app", image: IMAGE, files });
  expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
}

async function updated(rig: AgentRig, id: string, ...files: readonly object[]): Promise<unknown> {
  rig.deployments.change(id, { action: "update", app: "app", spec: { files } });
  return await rig.untilEnd(id);
}

const sourceOf = (rig: AgentRig): string =>
  rig.engine.container("app")!.request.files!.find(({ target }) => target === TARGET)!.source;

/** What the app finds in the directory: permissions and contents by path. */
function mounted(rig: AgentRig): Record<string, unknown> {
  const source = sourceOf(rig);
  const paths = readdirSync(source, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(
    paths.map((path) => {
      const stats = lstatSync(join(source, path));
      return [path, [stats.mode & 0o7777, stats.isFile() ? readFileSync(join(source, path), "utf8") : undefined]];
    }),
  );
}

const expected = (entries: readonly DirectoryEntry[]) =>
  Object.fromEntries(
    entries.map(({ path, mode, content }) => [path, [mode, content && Buffer.from(content).toString()]]),
  );

it("a directory is mounted as a whole, with the permissions of its files, beside other files", async () => {
  const { rig, stateDir } = await newRig();
  await deployed(rig, CONF, directoryOf(ENTRIES));
  expect(mounted(rig)).toMatchObject(expected(ENTRIES));
  expect(Object.keys(mounted(rig))).toHaveLength(ENTRIES.length + 11);
  expect(lstatSync(sourceOf(rig)).mode & 0o777).toBe(0o755);
  expect(rig.engine.container("app")!.request.files).toHaveLength(2);
  expect(readdirSync(join(stateDir, "files"))).toHaveLength(1);
  const [, described] = rig.store.apps()[0]!.spec.files!;
  expect(described).toMatchObject({ target: TARGET, directory: true, mode: "0444" });

  // By its hash, or not mentioned, it stays.
  const same = { target: TARGET, directory: true, sha256: described!.sha256 };
  for (const [id, file] of [same, { target: TARGET }, { target: TARGET, mode: "0400" }].entries()) {
    expect(await updated(rig, `same-${id}`, CONF, file)).toMatchObject({
      message: expect.stringContaining("Nothing to change") as string,
    });
  }
});

it("files that nobody else may read can be read by all users of the app", async () => {
  const { rig } = await newRig();
  await deployed(rig, directoryOf([entry("private", "x", 0o600)]));
  expect(mounted(rig)).toEqual({ private: [0o644, "x"] });
});

it("an update replaces the directory, and one that fails leaves it as it was", async () => {
  const { rig, stateDir } = await newRig();
  rig.engine.addImage("example/crasher:1", { behaviour: { exit: { code: 1, afterMs: 10 } } });
  await deployed(rig, directoryOf(ENTRIES));
  const next = [entry("only", "next\n")];
  expect(await updated(rig, "d2", directoryOf(next))).toMatchObject({ status: "Success" });
  expect(mounted(rig)).toEqual(expected(next));
  rig.deployments.change("d3", {
    action: "update",
    app: "app",
    spec: { image: "example/crasher:1", files: [directoryOf(ENTRIES)] },
  });
  expect(await rig.untilEnd("d3")).toMatchObject({ status: "Fail" });
  expect(mounted(rig)).toEqual(expected(next));
  for (const id of ["d1", "d2", "d3"]) rig.store.acknowledge(id, 10_000);
  expect(readdirSync(join(stateDir, "files"))).toHaveLength(1);
});

it("an archive that is none, or leads out of the directory, is refused before anything changes", async () => {
  const { rig } = await newRig();
  await deployed(rig, CONF, directoryOf(ENTRIES));
  const hostile = pack();
  hostile.entry({ name: "../outside" }, "x");
  hostile.finalize();
  const leading = { content_base64: (await buffer(hostile)).toString("base64") };
  for (const [id, content, reason] of [
    ["d2", { content: "no archive" }, "is not the archive of a directory: it is cut off"],
    ["d3", leading, "has a path that leads out of the directory"],
  ] as const) {
    expect(await updated(rig, id, CONF, { target: TARGET, directory: true, ...content })).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      details: { issues: [{ path: "files[1].content", reason: expect.stringContaining(reason) as string }] },
    });
  }
  expect(mounted(rig)).toMatchObject(expected(ENTRIES));
  // A file that is there is no directory for being called one.
  expect(await updated(rig, "d4", { target: CONF.target, directory: true })).toMatchObject({ code: "InvalidRequest" });
});

it("what it has unpacked is bounded by what the device takes", async () => {
  const { rig } = await newRig({ max_files_bytes: 65_536 });
  rig.deployments.deploy("d1", { name: "app", image: IMAGE, files: [directoryOf(ENTRIES)] });
  expect(await rig.untilEnd("d1")).toMatchObject({
    code: "InvalidRequest",
    details: { issues: [{ reason: expect.stringContaining("more than 65536 bytes") as string }] },
  });
});

it("is unpacked again where it, or some of it, is gone", async () => {
  const { rig, stateDir } = await newRig();
  await deployed(rig, directoryOf(ENTRIES));
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild: { isSet: false, clear: () => {} },
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  for (const damage of [
    () => rmSync(join(stateDir, "files"), { recursive: true }),
    () => rmSync(sourceOf(rig), { recursive: true }),
    () => rmSync(join(sourceOf(rig), "conf.d/3/13.conf")),
    () => rmSync(join(sourceOf(rig), "empty"), { recursive: true }),
    () => chmodSync(join(sourceOf(rig), "start.sh"), 0o444),
    () => {
      chmodSync(join(sourceOf(rig), "start.sh"), 0o755);
      truncateSync(join(sourceOf(rig), "start.sh"));
    },
  ]) {
    damage();
    await rig.engine.removeContainer(rig.engine.container("app")!.id, signal);
    await rig.clock.advance(1_200_001);
    await reconciler.reconcile(signal);
    expect(mounted(rig)).toMatchObject(expected(ENTRIES));
  }
  rmSync(sourceOf(rig), { recursive: true });
  rig.deployments.change("d2", { action: "restart", app: "app" });
  expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
  expect(mounted(rig)).toMatchObject(expected(ENTRIES));
});

it("comes back after the store was lost", async () => {
  const { rig, stateDir } = await newRig();
  await deployed(rig, directoryOf(ENTRIES));
  const before = rig.store.apps()[0]!.spec;
  for (const { event } of rig.store.pendingEvents(0, 100)) rig.store.acknowledge("d1", event.device_seq);
  rig.store.save({ removedApp: "app" });
  const reconcilerOf = (isSet: boolean): AppReconciler => {
    const rebuild = { isSet, clear: () => void (rebuild.isSet = false) };
    const { services, deployments } = rig;
    return new AppReconciler({
      ...services,
      rebuild,
      lease: (app) => deployments.lease(app),
      endedRuns: () => deployments.endedRuns,
    });
  };
  await reconcilerOf(true).reconcile(signal);
  expect(rig.store.apps()[0]?.spec).toEqual(before);
  rmSync(join(stateDir, "files"), { recursive: true });
  await rig.engine.removeContainer(rig.engine.container("app")!.id, signal);
  await reconcilerOf(false).reconcile(signal);
  expect(mounted(rig)).toMatchObject(expected(ENTRIES));
});
