import { describe, expect, it } from "vitest";
import { type AppLogEnd, type AppLogRequest, readAppLog } from "../../../../src/agent/apps/app-log.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../../src/agent/steps/app-reconciler.ts";
import { NO_CONTAINERS } from "../../../../src/agent/steps/observe.ts";
import { INSTALLED_ORDER } from "../../../../src/agent/steps/policy-check.ts";
import { executeRepair } from "../../../../src/agent/steps/table.ts";
import { AgentRig } from "../../../support/agent-rig.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import type { FakeBehaviour } from "../../../support/fake-engine/fake-image.ts";

const IMAGE = "example/app:1";
const NEXT = "example/app:2";

async function deployed(
  behaviour: FakeBehaviour = {},
  fields: object = {},
  config: ConstructorParameters<typeof AgentRig>[0] = {},
): Promise<AgentRig> {
  const rig = new AgentRig(config);
  rig.engine.addImage(IMAGE, { behaviour });
  rig.deployments.deploy("d1", { name: "app", image: IMAGE, ...fields });
  await rig.untilEnd("d1");
  return rig;
}

async function update(rig: AgentRig, id: string, behaviour: FakeBehaviour = {}, changes: object = {}): Promise<void> {
  rig.engine.addImage(NEXT, { behaviour });
  rig.deployments.change(id, { action: "update", app: "app", spec: { image: NEXT, pull: "missing", ...changes } });
  await rig.untilEnd(id);
}

async function previous(
  rig: AgentRig,
  request: Partial<AppLogRequest> = {},
): Promise<{ readonly lines: string[]; readonly end: AppLogEnd }> {
  const signal = new AbortController().signal;
  const log = readAppLog("app", { tail: 100, follow: false, previous: true, ...request }, rig.services, signal);
  const lines: string[] = [];
  for (;;) {
    const next = await log.next();
    if (next.done) return { lines, end: next.value };
    lines.push(...next.value.lines.map(({ text }) => text));
  }
}

describe("the log of earlier runs", () => {
  it("is nothing for an app in its first run", async () => {
    await using rig = await deployed({ logs: ["begin"] });
    expect(await previous(rig)).toEqual({ lines: [], end: "no_previous" });
  });

  it("has what the same container wrote before it was restarted, not what it writes now", async () => {
    await using rig = await deployed({ logs: ["begin"] });
    rig.engine.container("app")?.write("first run");
    await rig.clock.advance(1_000);
    rig.engine.container("app")?.exit(7);
    await rig.clock.advance(1_000);
    rig.engine.container("app")?.write("second run");
    expect(await previous(rig)).toEqual({ lines: ["begin", "first run"], end: "read" });
    expect(rig.engine.openLogs).toBe(0);
  });

  it("has what the version before wrote, after an update", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write("old version");
    await update(rig, "d2", { logs: ["new version"] });
    expect(rig.last("d2")?.status).toBe("Success");
    expect(await previous(rig)).toEqual({ lines: ["old version"], end: "read" });
  });

  it("has what the failed version wrote, after a rollback", async () => {
    await using rig = await deployed({ logs: ["old version"] });
    await rig.clock.advance(1_000);
    await update(rig, "d2", { logs: ["cannot go on"], exit: { afterMs: 10, code: 1 } });
    expect(rig.last("d2")?.status).toBe("Fail");
    const { lines } = await previous(rig);
    expect(lines[0]).toBe("old version");
    expect(lines.at(-1)).toBe("cannot go on");
  });

  it("has the lines of both containers in the order of time, the latest ones", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write("one", "two");
    await update(rig, "d2");
    rig.engine.container("app")?.write("three", "four");
    await rig.clock.advance(1_000);
    rig.engine.container("app")?.exit(1);
    await rig.clock.advance(1_000);
    expect((await previous(rig)).lines).toEqual(["one", "two", "three", "four"]);
    expect((await previous(rig, { tail: 3 })).lines).toEqual(["two", "three", "four"]);
    expect((await previous(rig, { tail: 1 })).lines).toEqual(["four"]);
    expect((await previous(rig, { tail: 0 })).lines).toEqual([]);
    const since = BigInt(rig.clock.now() + 1) * 1_000_000n;
    expect(await previous(rig, { since })).toEqual({ lines: [], end: "no_previous" });
  });

  it("has what the container wrote that a repair replaced", async () => {
    await using rig = await deployed();
    const container = rig.engine.container("app")!;
    container.write("before the repair");
    const signal = new AbortController().signal;
    const context = { ...rig.services, deploymentId: "d1", order: INSTALLED_ORDER, observed: NO_CONTAINERS, signal };
    await executeRepair(context, { kind: "clean", containerIds: [container.id] });
    const rebuild = { isSet: false, clear: () => {} };
    const lease = (app: string) => rig.deployments.lease(app);
    await new AppReconciler({ ...rig.services, rebuild, lease, endedRuns: () => 0 }).reconcile(signal);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect((await previous(rig)).lines).toEqual(["before the repair"]);
  });

  it("is what the app wrote before a restart that was asked for", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write("before the restart");
    await rig.clock.advance(1_000);
    rig.deployments.change("d2", { action: "restart", app: "app" });
    await rig.untilEnd("d2");
    expect((await previous(rig)).lines).toEqual(["before the restart"]);
  });

  it("is kept without declared secrets, also those of the other version", async () => {
    const environments = [{ key: "TOKEN", value: "old-secret-value", secret: true }];
    await using rig = await deployed({}, { environments });
    rig.engine.container("app")?.write("token old-secret-value");
    await update(rig, "d2", {}, { environments: [{ key: "TOKEN", value: "new-secret-value", secret: true }] });
    expect(rig.previousLogs.read("app").map(({ text }) => text)).toEqual(["token ***"]);
    expect((await previous(rig)).lines).toEqual(["token ***"]);
  });

  it("is kept without the contents of secret files, also those of the other version", async () => {
    const file = { target: "/run/secrets/token", content: "old-secret-value", secret: true };
    await using directory = await tempDir();
    await using rig = await deployed({}, { files: [file] }, { stateDir: directory.path });
    rig.engine.container("app")?.write("token old-secret-value");
    rig.engine.container("app")?.write("next new-secret-value");
    await update(rig, "d2", {}, { files: [{ ...file, content: "new-secret-value" }] });
    expect(rig.previousLogs.read("app").map(({ text }) => text)).toEqual(["token ***", "next ***"]);
  });

  it("is not kept of an app that is removed, nor of a first deployment that fails", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write("one");
    rig.deployments.change("d2", { action: "remove", app: "app" });
    await rig.untilEnd("d2");
    expect(rig.previousLogs.read("app")).toEqual([]);
    rig.engine.addImage("example/bad:1", { behaviour: { logs: ["bad"], exit: { afterMs: 10, code: 1 } } });
    rig.deployments.deploy("d3", { name: "bad", image: "example/bad:1" });
    expect((await rig.untilEnd("d3"))?.status).toBe("Fail");
    expect(rig.previousLogs.read("bad")).toEqual([]);
  });

  it.each([
    [
      "the engine cannot give it",
      (rig: AgentRig) => rig.engine.faults.fail("readLogs", new EngineError("unknown", "no")),
    ],
    ["the engine hangs", (rig: AgentRig) => rig.engine.faults.hang("readLogs")],
    ["the disk is full", (rig: AgentRig) => (rig.previousLogs.failure = new Error("ENOSPC: no space left on device"))],
  ])("is not kept where %s, and the update succeeds all the same", async (_name, breakIt) => {
    await using rig = await deployed();
    rig.engine.container("app")?.write("one");
    breakIt(rig);
    await update(rig, "d2");
    expect(rig.last("d2")?.status).toBe("Success");
    expect(rig.log.filter((line) => line.includes("could not be kept"))).toHaveLength(1);
    expect(rig.previousLogs.read("app")).toEqual([]);
  });
});
