import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { AgentRig } from "../../../support/agent-rig.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const IMAGE = "example/app:1";
const CRASHER = "example/crasher:1";
const CONF = { target: "/etc/app.conf", content: "listener 1883\n" };
const SECRET = { target: "/run/secrets/password", content: "correct horse battery", secret: true };

async function newRig(): Promise<{ rig: AgentRig; stateDir: string }> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const rig = new AgentRig({ stateDir: directory.path });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  rig.engine.addImage(IMAGE);
  rig.engine.addImage(CRASHER, { behaviour: { exit: { code: 1, afterMs: 10 } } });
  return { rig, stateDir: directory.path };
}

const entry = (name: string, fields: object, dependsOn: readonly string[] = []) => ({
  app: { name, image: IMAGE, pull: "missing", ...fields },
  depends_on: dependsOn.map((app) => ({ app })),
});

async function applied(rig: AgentRig, id: string, ...apps: readonly object[]): Promise<unknown> {
  rig.deployments.apply(id, { project: "line", apps });
  return await rig.untilEnd(id);
}

/** The files mounted into an app's container, by their targets. */
function mounted(rig: AgentRig, app: string): Record<string, string> {
  const { files = [] } = rig.engine.container(app)!.request;
  return Object.fromEntries(files.map(({ source, target }) => [target, readFileSync(source, "utf8")]));
}

const places = (stateDir: string): string[] => {
  const root = join(stateDir, "files");
  return existsSync(root) ? readdirSync(root) : [];
};

describe("files of the apps of a group", () => {
  it("come with them, and the same ones, or ones without a content, change nothing", async () => {
    const { rig, stateDir } = await newRig();
    const files = [CONF, SECRET];
    expect(await applied(rig, "g1", entry("one", { files }), entry("two", {}))).toMatchObject({ status: "Success" });
    rig.store.acknowledge("g1", 10_000);
    expect(mounted(rig, "one")).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
    for (const [id, same] of [
      ["g2", files],
      ["g3", files.map(({ target }) => ({ target }))],
    ] as const) {
      expect(await applied(rig, id, entry("one", { files: same }), entry("two", {}))).toMatchObject({
        status: "Success",
        details: { unchanged: ["one", "two"] },
      });
      rig.store.acknowledge(id, 10_000);
    }
    expect(places(stateDir)).toHaveLength(1);
    expect(JSON.stringify([rig.log, rig.store.history(100), rig.store.apps()])).not.toContain("correct horse");
  });

  it("go with an app whose file has none any more, and nothing of them is left", async () => {
    const { rig, stateDir } = await newRig();
    await applied(rig, "g1", entry("one", { files: [CONF, SECRET] }));
    rig.store.acknowledge("g1", 10_000);
    const files = rig.store.apps()[0]!.spec.files!;
    expect(await applied(rig, "g2", entry("one", {}))).toMatchObject({ details: { changed: ["one"] } });
    rig.store.acknowledge("g2", 10_000);
    expect(places(stateDir)).toEqual([]);
    expect(rig.store.apps()[0]!.spec.files).toBeUndefined();
    for (const { sha256, secret_id } of files) expect(rig.store.fileContent((sha256 ?? secret_id)!)).toBeUndefined();
  });

  it("come back with the versions before if another app of the group fails", async () => {
    const { rig, stateDir } = await newRig();
    await applied(rig, "g1", entry("one", { files: [CONF, SECRET] }), entry("two", {}, ["one"]));
    rig.store.acknowledge("g1", 10_000);
    const changed = [
      { ...CONF, content: "listener 1884\n" },
      { ...SECRET, content: "another secret content" },
    ];
    const end = await applied(rig, "g2", entry("one", { files: changed }), entry("two", { image: CRASHER }, ["one"]));
    expect(end).toMatchObject({ status: "Fail", details: { restored: ["one", "two"] } });
    expect(mounted(rig, "one")).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
    expect(places(stateDir)).toHaveLength(1);
  });

  it("come back with an app that was removed, if another app of the group fails", async () => {
    const { rig } = await newRig();
    await applied(rig, "g1", entry("one", { files: [CONF, SECRET] }), entry("two", {}));
    rig.store.acknowledge("g1", 10_000);
    rig.deployments.apply("g2", { project: "line", prune: true, apps: [entry("two", { image: CRASHER })] });
    await rig.clock.advance(200);
    expect(rig.engine.container("one")).toBeUndefined();
    await rig.restart();
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail", details: { restored: ["one", "two"] } });
    expect(mounted(rig, "one")).toEqual({ [CONF.target]: CONF.content, [SECRET.target]: SECRET.content });
  });

  it("are refused without a content that the device has not, and nothing of the group is kept", async () => {
    const { rig, stateDir } = await newRig();
    const end = await applied(
      rig,
      "g1",
      entry("one", { files: [SECRET] }),
      entry("two", { files: [{ target: "/x" }] }),
    );
    expect(end).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      details: { issues: [{ path: "apps[1].app.files[0].content" }] },
    });
    expect(places(stateDir)).toEqual([]);
    expect(rig.store.deployments().filter(({ group }) => group)).toEqual([]);
  });

  it("are refused where a mount would hide them", async () => {
    const { rig } = await newRig();
    const end = await applied(rig, "g1", entry("one", { files: [CONF], tmpfs: [{ target: CONF.target }] }));
    expect(end).toMatchObject({
      code: "InvalidRequest",
      details: { issues: [{ path: "apps[0].app.files[0].target" }] },
    });
  });
});
