import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { parseNewAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { AgentRig } from "../../support/agent-rig.ts";
import { tempDir } from "../../support/temp-dir.ts";

const IMAGE = "example/mosquitto:2";
const CONF = { target: "/mosquitto/config/mosquitto.conf", content: "listener 1883\n" };
const SECRET = { target: "/run/secrets/password", content: "correct horse battery", secret: true };
const PERMISSIVE = { privileged: true, host_network: true, mounts: { allow: [], deny: [] }, registries: { allow: [] } };
const signal = new AbortController().signal;

async function newRig(policy: object = {}): Promise<{ rig: AgentRig; stateDir: string }> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const rig = new AgentRig({ stateDir: directory.path, policy: { ...PERMISSIVE, ...policy } });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  rig.engine.addImage(IMAGE, { user: "1883:1884" });
  return { rig, stateDir: directory.path };
}

async function deployed(rig: AgentRig, id: string, files: unknown, more: object = {}): Promise<void> {
  rig.deployments.deploy(id, { name: "app", image: IMAGE, files, ...more });
  expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
}

async function updated(rig: AgentRig, id: string, spec: unknown): Promise<unknown> {
  rig.deployments.change(id, { action: "update", app: "app", spec });
  return await rig.untilEnd(id);
}

/** Acknowledges everything, as a control plane that has stored it. */
function acknowledgeAll(rig: AgentRig): void {
  for (const { deploymentId, event } of rig.store.pendingEvents(0, 10_000)) {
    rig.store.acknowledge(deploymentId, event.device_seq);
  }
}

/** The files mounted into the app's container, by their targets. */
function mounted(rig: AgentRig): Record<string, string> {
  const { files = [] } = rig.engine.container("app")!.request;
  return Object.fromEntries(files.map(({ source, target }) => [target, readFileSync(source, "utf8")]));
}

const source = (rig: AgentRig): string => rig.engine.container("app")!.request.files![0]!.source;
const places = (stateDir: string): string[] => {
  const root = join(stateDir, "files");
  return existsSync(root) ? readdirSync(root) : [];
};

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
const problemsOf = (file: object) => parseNewAppSpec({ name: "app", image: IMAGE, files: [file] });

describe("a file that is given by the hash of its content", () => {
  it("keeps the content that the app has, and nothing else of it", async () => {
    const { rig } = await newRig();
    await deployed(rig, "d1", [{ ...CONF, mode: "0440", owner: "7:7" }]);
    const kept = { target: CONF.target, sha256: hash(CONF.content) };
    expect(await updated(rig, "d2", { files: [kept] })).toMatchObject({ status: "Success" });
    const [file] = rig.store.apps()[0]!.spec.files ?? [];
    expect(file).toEqual({ target: CONF.target, size: 14, sha256: hash(CONF.content), mode: "0444" });
    expect(await updated(rig, "d3", { files: [kept] })).toMatchObject({
      message: expect.stringContaining("Nothing to change") as string,
    });
  });

  it.each([
    ["another content", { target: CONF.target, sha256: "0".repeat(64) }],
    ["another target", { target: "/elsewhere", sha256: hash(CONF.content) }],
    ["a secret, of which no hash is known", { target: SECRET.target, sha256: hash(SECRET.content) }],
  ])("is refused with %s", async (_what, file) => {
    const { rig } = await newRig();
    await deployed(rig, "d1", [CONF, SECRET]);
    expect(await updated(rig, "d2", { files: [file] })).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      details: { issues: [{ path: "files[0].sha256" }] },
    });
    expect(await updated(rig, "d3", { files: [{ ...file, secret: true }] })).toMatchObject({ status: "Fail" });
  });

  it("is no content for a new app, nor beside one", () => {
    expect(problemsOf({ target: "/a", sha256: hash("") })).toMatchObject({
      error: { details: { issues: [{ path: "files[0].content" }] } },
    });
    expect(problemsOf({ ...CONF, sha256: hash(CONF.content) })).toMatchObject({
      error: { details: { issues: [{ path: "files[0].sha256" }] } },
    });
  });
});

describe("files that come with an app", () => {
  it("are mounted with their contents, modes and owners; their directory is the agent's alone", async () => {
    const { rig, stateDir } = await newRig();
    const binary = { target: "/bin.dat", content_base64: "AP8=", mode: "640", owner: "7" };
    await deployed(rig, "d1", [CONF, SECRET, binary]);
    expect(mounted(rig)).toMatchObject({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
    const stats = rig.engine.container("app")!.request.files!.map((file) => lstatSync(file.source));
    expect(stats.map(({ mode }) => mode & 0o7777)).toEqual([0o444, 0o400, 0o640]);
    if (process.getuid?.() === 0) {
      expect(stats.map(({ uid, gid }) => [uid, gid])).toEqual([
        [process.getuid(), process.getgid?.()],
        [1883, 1884],
        [7, 7],
      ]);
    }
    for (const path of [join(stateDir, "files"), join(source(rig), "..")]) {
      expect(lstatSync(path).mode & 0o777).toBe(0o700);
    }
  });

  it("that are secret belong to the app's own user, where it has one", async () => {
    const { rig } = await newRig();
    await deployed(rig, "d1", [SECRET], { user: "21:22" });
    const { uid, gid, mode } = lstatSync(source(rig));
    expect(mode & 0o7777).toBe(0o400);
    if (process.getuid?.() === 0) expect([uid, gid]).toEqual([21, 22]);
  });

  it("appear in no event, log, label, record or report", async () => {
    const { rig } = await newRig();
    const secretInOther = { ...CONF, content: "password = open sesame" };
    await deployed(rig, "d1", [secretInOther, SECRET]);
    await updated(rig, "d2", { files: [{ ...SECRET, content: "another secret content" }, { target: CONF.target }] });
    const texts = [
      rig.log,
      rig.events("d1"),
      rig.events("d2"),
      rig.engine.containers.map(({ request }) => request),
      rig.store.apps(),
      rig.store.deployments(),
      rig.store.history(100),
    ];
    const text = JSON.stringify(texts);
    for (const content of ["open sesame", "correct horse", "another secret"]) expect(text).not.toContain(content);
    for (const base64 of ["Y29ycmVjdCBob3JzZ", "b3BlbiBzZXNhbW"]) expect(text).not.toContain(base64);
  });

  it("are replaced by an update, and the old ones go", async () => {
    const { rig, stateDir } = await newRig();
    await deployed(rig, "d1", [CONF]);
    expect(await updated(rig, "d2", { files: [{ ...CONF, content: "listener 1884\n" }] })).toMatchObject({
      status: "Success",
    });
    expect(mounted(rig)).toEqual({ [CONF.target]: "listener 1884\n" });
    expect(places(stateDir)).toHaveLength(1);
  });

  it("stay over an update of something else, and one of the same files changes nothing", async () => {
    const { rig } = await newRig();
    await deployed(rig, "d1", [CONF, SECRET]);
    await updated(rig, "d2", { environments: [{ key: "A", value: "1" }] });
    expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
    const { id } = rig.engine.container("app")!;
    for (const [update, files] of [
      ["d3", [CONF, SECRET]],
      ["d4", [{ target: CONF.target }, { target: SECRET.target }]],
      [
        "d5",
        [
          { ...CONF, mode: "444" },
          { ...SECRET, content_base64: toBase64(SECRET.content), content: undefined },
        ],
      ],
    ] as const) {
      const end = await updated(rig, update, JSON.parse(JSON.stringify({ files })));
      expect(end).toMatchObject({ status: "Success" });
      expect(rig.engine.container("app")!.id).toBe(id);
    }
  });

  it("without a content keep it, with other attributes", async () => {
    const { rig } = await newRig();
    await deployed(rig, "d1", [CONF, SECRET]);
    await updated(rig, "d2", {
      files: [
        { target: SECRET.target, owner: "5:6" },
        { target: CONF.target, mode: "0400" },
      ],
    });
    expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
    expect(rig.store.apps()[0]?.spec.files).toMatchObject([
      { target: SECRET.target, owner: "5:6", secret: true, mode: "0400" },
      { target: CONF.target, mode: "0400" },
    ]);
  });

  it("are unpacked, and the same ones in another form change nothing", async () => {
    const { rig } = await newRig();
    const content = "a line\n".repeat(50_000);
    const packed = { target: "/large", content_gzip: gzipSync(content).toString("base64") };
    await deployed(rig, "d1", [packed]);
    expect(mounted(rig)).toEqual({ "/large": content });
    const { id } = rig.engine.container("app")!;
    await updated(rig, "d2", { files: [{ target: "/large", content }] });
    expect(rig.engine.container("app")!.id).toBe(id);
  });

  it.each([
    [
      "that are larger than the device takes",
      [Buffer.alloc(70_000), Buffer.alloc(70_000)],
      "files: the files of the request",
    ],
    [
      "of which one unpacks to far more than it has bytes",
      [Buffer.alloc(16 * 1024 * 1024)],
      "files: the files of the request",
    ],
  ])("%s are refused, also in a group and an update", async (_what, contents, message) => {
    const { rig } = await newRig({ max_files_bytes: 131_072 });
    const files = contents.map((bytes, index) => {
      return { target: `/f/${index}`, content_gzip: gzipSync(bytes).toString("base64") };
    });
    const app = { name: "app", image: IMAGE, files };
    rig.deployments.deploy("d1", app);
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining(message),
    });
    rig.deployments.apply("d2", { project: "p", apps: [{ app, depends_on: [] }] });
    expect(await rig.untilEnd("d2")).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining(message),
    });
    await deployed(rig, "d3", [CONF]);
    expect(await updated(rig, "d4", { files })).toMatchObject({ code: "InvalidRequest" });
    expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content });
  });

  it("that cannot be unpacked are refused by name", async () => {
    const { rig } = await newRig();
    const damaged = gzipSync("a line\n".repeat(500));
    damaged[15] = 0xff ^ (damaged[15] ?? 0);
    const files = [{ target: "/a", content_gzip: damaged.toString("base64") }];
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, files });
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "InvalidRequest",
      details: { issues: [{ path: "files[0].content_gzip", reason: "cannot be unpacked" }] },
    });
  });

  it("without a content that the app does not have are refused before anything changes", async () => {
    const { rig } = await newRig();
    await deployed(rig, "d1", [CONF]);
    expect(await updated(rig, "d2", { files: [{ target: "/other" }] })).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      details: { issues: [{ path: "files[0].content" }] },
    });
    expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content });
  });

  it("are refused in all if those that stay make them too large", async () => {
    const { rig } = await newRig({ max_files_bytes: 262_144 });
    await deployed(rig, "d1", [{ ...CONF, content: "x".repeat(200_000) }]);
    const more = { target: "/more", content: "y".repeat(100_000) };
    expect(await updated(rig, "d2", { files: [{ target: CONF.target }, more] })).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      message: expect.stringContaining("more than 262144 bytes"),
    });
  });

  it("come back with the version before if an update fails", async () => {
    const { rig, stateDir } = await newRig();
    await deployed(rig, "d1", [CONF]);
    rig.engine.addImage("example/crasher:1", { behaviour: { exit: { code: 1, afterMs: 10 } } });
    const patch = { image: "example/crasher:1", files: [{ ...CONF, content: "broken" }] };
    expect(await updated(rig, "d2", patch)).toMatchObject({ status: "Fail", code: "CrashLoopBackOff" });
    expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content });
    expect(places(stateDir)).toHaveLength(1);
  });

  it("come back if an update is cancelled after it has succeeded", async () => {
    const { rig } = await newRig();
    await deployed(rig, "d1", [CONF, SECRET]);
    acknowledgeAll(rig);
    await updated(rig, "d2", { files: [{ ...CONF, content: "listener 1884\n" }] });
    rig.deployments.cancel("d2", "not_reachable");
    await rig.untilEnd("d2");
    expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
  });

  it("are placed again when they have gone and the app is started", async () => {
    const { rig, stateDir } = await newRig();
    await deployed(rig, "d1", [CONF, SECRET]);
    rmSync(join(stateDir, "files"), { recursive: true });
    rig.deployments.change("d2", { action: "restart", app: "app" });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
  });

  it("are placed again by a repair, also where one was cut short", async () => {
    const { rig, stateDir } = await newRig();
    await deployed(rig, "d1", [CONF, SECRET]);
    const reconciler = new AppReconciler({
      ...rig.services,
      rebuild: { isSet: false, clear: () => {} },
      lease: (app) => rig.deployments.lease(app),
      endedRuns: () => rig.deployments.endedRuns,
    });
    for (const damage of [
      () => rmSync(join(stateDir, "files"), { recursive: true }),
      () => {
        // Read-only, also for whoever has made it.
        chmodSync(source(rig), 0o600);
        truncateSync(source(rig));
      },
    ]) {
      damage();
      await rig.engine.removeContainer(rig.engine.container("app")!.id, signal);
      await rig.clock.advance(1_200_001);
      await reconciler.reconcile(signal);
      expect(mounted(rig)).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
    }
  });

  it("go with the app, and nothing of them is left", async () => {
    const { rig, stateDir } = await newRig();
    await deployed(rig, "d1", [CONF, SECRET]);
    const files = rig.store.apps()[0]!.spec.files!;
    acknowledgeAll(rig);
    rig.deployments.change("d2", { action: "remove", app: "app" });
    await rig.untilEnd("d2");
    expect(places(stateDir)).toEqual([]);
    acknowledgeAll(rig);
    for (const { sha256, secret_id } of files) expect(rig.store.fileContent((sha256 ?? secret_id)!)).toBeUndefined();
    expect(rig.store.hasResidualData).toBe(true);
  });

  it("leave nothing when the deployment fails", async () => {
    const { rig, stateDir } = await newRig();
    rig.engine.addImage("example/crasher:1", { behaviour: { exit: { code: 1, afterMs: 10 } } });
    rig.deployments.deploy("d1", { name: "app", image: "example/crasher:1", files: [CONF] });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail" });
    expect(places(stateDir)).toEqual([]);
  });

  it("fail the deployment with a reason where they cannot be placed", async () => {
    const { rig, stateDir } = await newRig();
    // Something else stands where the directory is to be.
    writeFileSync(join(stateDir, "files"), "");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, files: [CONF] });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "FilesNotPlaced", step: "creating" });
    expect(rig.engine.containers).toEqual([]);
  });

  it("fail the deployment with a reason where the engine does not see the agent's directory", async () => {
    const { rig } = await newRig();
    rig.engine.faults.fail("writeDeviceFiles", new EngineError("mount_missing", "bind source path does not exist"));
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, files: [{ ...CONF, owner: "5:6" }] });
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Fail",
      code: "FilesNotPlaced",
      message: expect.stringContaining("the engine does not see the agent's state directory"),
    });
    expect(rig.engine.containers).toEqual([]);
  });
});

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}
