import { describe, expect, it } from "vitest";
import type { EngineErrorKind } from "../../../src/agent/core/error-kind.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { readDeviceStatus } from "../../../src/agent/local/device-status.ts";
import { deployedApps } from "../../support/reconciler-rig.ts";

const OLD = "example/app:1";
const NEW = "example/app:2";
const signal = new AbortController().signal;
const PORTS = [{ host_port: 30_001, target_port: 80 }];
const LOST = "driver failed programming external connectivity: iptables: No chain/target/match by that name";

/** A serving app, and what the engine was asked for since. */
async function serving() {
  const apps = await deployedApps(OLD);
  const { rig } = apps;
  rig.engine.addImage(NEW, { layers: [5] });
  rig.deployments.deploy("d1", { name: "web", image: OLD, ports: PORTS });
  await rig.untilEnd("d1");
  const calls: string[] = [];
  rig.engine.faults.onCall(({ method, phase }) => void (phase === "before" && calls.push(method)));
  return { ...apps, calls, before: rig.engine.container("web")!.state };
}

type Serving = Awaited<ReturnType<typeof serving>>;
type Change = "update" | "restart" | "start";

const change = async ({ rig }: Serving, action: Change, spec: object = {}) => {
  rig.deployments.change("c1", { action, app: "web", ...(action === "update" && { spec: { image: NEW, ...spec } }) });
  return await rig.untilEnd("c1");
};

const fail = ({ rig }: Serving, kind: EngineErrorKind, message = LOST): Disposable => {
  return rig.engine.faults.fail("tryStart", new EngineError(kind, message), { times: 99 });
};

describe.each(["update", "restart"] as const)("an %s of a serving app", (action) => {
  it("tries all that its start needs before anything is stopped", async () => {
    const apps = await serving();
    await using _rig = apps.rig;
    expect(await change(apps, action)).toMatchObject({ status: "Success" });
    expect(apps.calls.filter((call) => call === "tryStart")).toHaveLength(1);
    expect(apps.calls.indexOf("tryStart")).toBeLessThan(apps.calls.indexOf("stopContainer"));
  });

  it.each([
    ["rules_lost", "EngineRestartNeeded", /lost its firewall rules/],
    ["bridge_lost", "EngineRestartNeeded", /bridge .* is gone/],
    ["network_missing", "NetworkUnavailable", /cannot provide the app's network/],
    ["invalid", "InvalidRequest", /refuses the app/],
    ["unknown", "Internal", /engine failed/],
  ] as const)("fails where that shows %s, and the app serves on", async (kind, code, message) => {
    const apps = await serving();
    await using rig = apps.rig;
    using _failure = fail(apps, kind);
    expect(await change(apps, action)).toMatchObject({
      status: "Fail",
      code,
      step: "checking",
      message: expect.stringMatching(message) as string,
    });
    expect(apps.calls).not.toContain("stopContainer");
    expect(rig.engine.containers).toMatchObject([{ name: "web", state: apps.before }]);
  });

  it.each(["no_addresses", "port_in_use", "conflict"] as const)(
    "goes on where only %s keeps it from telling",
    async (kind) => {
      const apps = await serving();
      await using _rig = apps.rig;
      using _failure = fail(apps, kind);
      expect(await change(apps, action)).toMatchObject({ status: "Success" });
    },
  );

  it("goes on where the memory of what runs is missing for it", async () => {
    const apps = await serving();
    await using _rig = apps.rig;
    using _failure = fail(apps, "unknown", "fork/exec runc: cannot allocate memory");
    expect(await change(apps, action)).toMatchObject({ status: "Success" });
  });

  it("is not tried again after it was stopped", async () => {
    const apps = await serving();
    await using rig = apps.rig;
    using hook = rig.engine.faults.hang("startContainer");
    rig.deployments.change("c1", { action, app: "web", ...(action === "update" && { spec: { image: NEW } }) });
    while (hook.waiting === 0) await rig.clock.advance(50);
    using _failure = fail(apps, "rules_lost");
    await rig.restart();
    hook[Symbol.dispose]();
    expect(await rig.untilEnd("c1")).toMatchObject({ status: "Success" });
  });
});

describe("an update of a serving app", () => {
  it("says that the previous version was not touched", async () => {
    const apps = await serving();
    await using _rig = apps.rig;
    using _failure = fail(apps, "rules_lost");
    expect(await change(apps, "update")).toMatchObject({
      message: expect.stringContaining("was not touched"),
      details: { reason: "rules_lost", rolled_back: false },
    });
  });

  it("finds a device that has gone since the check", async () => {
    const apps = await serving();
    await using rig = apps.rig;
    rig.host.devices.add("/dev/ttyUSB0");
    rig.engine.faults.onCall(({ method }) => void (method === "createContainer" && rig.host.devices.clear()));
    expect(await change(apps, "update", { devices: [{ local: "/dev/ttyUSB0" }] })).toMatchObject({
      code: "InvalidRequest",
      step: "checking",
      message: expect.stringContaining("no device file /dev/ttyUSB0"),
    });
    expect(apps.calls).not.toContain("stopContainer");
  });
});

it.each(["stopped", "paused"] as const)("a start of an app that is %s tries nothing: nothing serves", async (state) => {
  const apps = await serving();
  await using rig = apps.rig;
  if (state === "paused") rig.engine.container("web")!.pause();
  else rig.engine.container("web")!.stop();
  expect(await change(apps, "start")).toMatchObject({ status: "Success" });
  expect(apps.calls).not.toContain("tryStart");
});

describe("an engine that has lost its rules", () => {
  it("is why an app that has ended does not run, in the status, until it is brought back", async () => {
    const apps = await serving();
    await using rig = apps.rig;
    const sources = {
      ...rig.services,
      diskReserveBytes: 0,
      daemon: {
        isBusy: () => false,
        heldFor: () => undefined,
        repairFailure: (app: string) => apps.reconciler.failureOf(app),
        createPolicyCheck: () => async () => undefined,
      },
    };
    const trouble = async () => (await readDeviceStatus(sources, signal)).apps[0]?.trouble;
    const failure = rig.engine.faults.fail("startContainer", new EngineError("rules_lost", LOST), { times: 99 });
    rig.engine.container("web")!.stop();
    await apps.reconciler.reconcile(signal);
    expect(await trouble()).toMatch(/^it cannot be started: The container engine has lost its firewall rules.*docker$/);
    failure[Symbol.dispose]();
    await rig.clock.advance(600_000);
    await apps.reconciler.reconcile(signal);
    expect(await trouble()).toBeNull();
  });

  it("is found within the hour while the apps run, and soon after the start", async () => {
    const apps = await serving();
    await using rig = apps.rig;
    const rounds = async (ms: number): Promise<number> => {
      const before = apps.calls.filter((call) => call === "tryStart").length;
      for (let waited = 0; waited < ms; waited += 30_000) {
        await rig.clock.advance(30_000);
        await apps.reconciler.reconcile(signal);
      }
      return apps.calls.filter((call) => call === "tryStart").length - before;
    };
    expect(await rounds(600_000)).toBe(1);
    expect(await rounds(7_200_000)).toBe(2);
    using _failure = fail(apps, "rules_lost");
    await rounds(3_600_000);
    expect(rig.troubles.texts).toEqual([expect.stringMatching(/lost its firewall rules/)]);
    expect(rig.engine.containers).toMatchObject([{ name: "web", state: apps.before }]);
  });

  it("is a trouble from then on, until a trial of the reconciler or a start succeeds", async () => {
    const apps = await serving();
    await using rig = apps.rig;
    const failure = fail(apps, "rules_lost");
    await change(apps, "update");
    expect(rig.troubles.texts).toEqual([expect.stringMatching(/lost its firewall rules.*systemctl restart docker/)]);
    await rig.clock.advance(120_000);
    await apps.reconciler.reconcile(signal);
    expect(rig.troubles.needsRestart).toBe(true);
    failure[Symbol.dispose]();
    // Not tried in each round.
    await apps.reconciler.reconcile(signal);
    expect(rig.troubles.needsRestart).toBe(true);
    await rig.clock.advance(120_000);
    await apps.reconciler.reconcile(signal);
    expect(rig.troubles.texts).toEqual([]);
  });

  it("is one too if a repair finds it", async () => {
    const apps = await serving();
    await using rig = apps.rig;
    rig.engine.container("web")!.stop();
    using _failure = rig.engine.faults.fail("startContainer", new EngineError("rules_lost", LOST));
    using _trial = fail(apps, "rules_lost");
    await apps.reconciler.reconcile(signal);
    expect(rig.troubles.needsRestart).toBe(true);
  });
});
