import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AppAction } from "../../../src/protocol/deployments/deployment-action.ts";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import type { AgentRig } from "../../support/agent-rig.ts";
import { deployedApps } from "../../support/reconciler-rig.ts";

const IMAGE = "example/app:1";
const signal = new AbortController().signal;

const deployed = (...names: string[]) => deployedApps(IMAGE, ...names);

const appOf = (rig: AgentRig, name: string) => rig.store.apps().find((app) => app.name === name);

describe("a reconciler's round that began before a command", () => {
  it("does not start what was stopped while it repaired another app", async () => {
    const { rig, reconciler } = await deployed("first", "second");
    await using _rig = rig;
    for (const name of ["first", "second"]) await rig.engine.removeContainer(name, signal);
    const slow = rig.engine.faults.hang("createContainer");
    const round = reconciler.reconcile(signal);
    await rig.clock.advance(0);
    expect(slow.waiting).toBe(1);
    rig.deployments.change("s1", { action: "stop", app: "second" });
    expect(await rig.untilEnd("s1")).toMatchObject({ status: "Success" });
    slow[Symbol.dispose]();
    await rig.clock.advance(1_000);
    await round;
    await rig.clock.advance(60_000);
    await reconciler.reconcile(signal);
    expect(appOf(rig, "second")).toMatchObject({ desired: "stopped" });
    expect(rig.engine.container("second")?.status).not.toBe("running");
  });

  it("does not stop what was started while it repaired another app", async () => {
    const { rig, reconciler } = await deployed("first", "second");
    await using _rig = rig;
    rig.deployments.change("s1", { action: "stop", app: "second" });
    await rig.untilEnd("s1");
    await rig.engine.removeContainer("first", signal);
    // It was started by hand, which the reconciler is about to undo.
    await rig.engine.startContainer("second", signal);
    const slow = rig.engine.faults.hang("createContainer");
    const round = reconciler.reconcile(signal);
    await rig.clock.advance(0);
    rig.deployments.change("s2", { action: "start", app: "second" });
    expect(await rig.untilEnd("s2")).toMatchObject({ status: "Success" });
    slow[Symbol.dispose]();
    await rig.clock.advance(1_000);
    await round;
    expect(rig.engine.container("second")?.status).toBe("running");
  });
});

const round = fc.record({
  /** What befalls the apps behind the agent's back. */
  trouble: fc.constantFrom("none", "crash", "vanish"),
  /** What the reconciler has begun by then. */
  pauseMs: fc.integer({ min: 0, max: 8_000 }),
  action: fc.constantFrom<AppAction>("stop", "start", "restart", "update", "remove"),
});
/** The second one is looked after behind the first one. */
const APPS = ["first", "second"] as const;

/** What was answered last, and so has to be. */
interface Expected {
  readonly installed: boolean;
  readonly running: boolean;
  /** What the last update set. */
  readonly version: string | undefined;
}

describe("a command in the middle of a repair", () => {
  it("what was answered stays", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(round, fc.constantFrom(...APPS)), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 40, maxLength: 40 }),
        async (rounds, delays) => {
          const { rig, reconciler } = await deployed(...APPS);
          await using _rig = rig;
          // Every call takes its time before and after its work, so that whatever was seen may be over by then.
          let calls = 0;
          const slow = rig.engine.faults.onCall(({ signal: call }) =>
            call === signal ? undefined : rig.clock.sleep(delays[calls++ % delays.length] ?? 0, call),
          );
          let pause = 100;
          const stop = new AbortController();
          const looking = (async () => {
            while (!stop.signal.aborted) {
              await reconciler.reconcile(stop.signal).catch(() => {});
              await rig.clock.sleep(pause, stop.signal).catch(() => {});
            }
          })();
          const expected = new Map<string, Expected>(APPS.map((name) => [name, DEPLOYED]));
          for (const [index, [{ trouble, pauseMs, action }, name]] of rounds.entries()) {
            for (const app of trouble === "none" ? [] : APPS) {
              rig.engine.container(app)?.stop();
              if (trouble === "vanish") await rig.engine.removeContainer(app, signal);
            }
            await rig.clock.advance(pauseMs);
            const id = `c${index}`;
            const spec = { environments: [{ key: "VERSION", value: id }] };
            rig.deployments.change(id, { action, app: name, ...(action === "update" && { spec }) });
            const end = await rig.untilEnd(id);
            if (end?.status === "Success") expected.set(name, afterSuccess(expected.get(name)!, action, id));
            for (const app of APPS) isSo(rig, app, expected.get(app)!);
          }
          slow[Symbol.dispose]();
          // Pauses between repairs that did not hold are ten minutes at most.
          pause = 20_000;
          await rig.clock.advance(700_000);
          stop.abort(new Error("over"));
          await rig.clock.advance(1_000);
          await looking;
          for (const app of APPS) {
            isSo(rig, app, expected.get(app)!);
            runsAsAnswered(rig, app, expected.get(app)!);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

const DEPLOYED: Expected = { installed: true, running: true, version: undefined };

function afterSuccess(before: Expected, action: AppAction, id: string): Expected {
  switch (action) {
    case "stop":
      return { ...before, running: false };
    case "start":
    case "restart":
      return { ...before, running: true };
    case "remove":
      return { ...before, installed: false };
    case "update":
      return { ...before, version: id };
  }
}

const containersOf = (rig: AgentRig, name: string) =>
  rig.engine.containers.filter(({ request }) => request.labels[LABELS.app] === name);

/** At any moment between two commands: an app may be down for a while, and never up where it must not be. */
function isSo(rig: AgentRig, name: string, { installed, running }: Expected): void {
  const app = appOf(rig, name);
  expect(app !== undefined).toBe(installed);
  if (!installed) return expect(containersOf(rig, name)).toEqual([]);
  expect(app).toMatchObject({ desired: running ? "running" : "stopped" });
  if (!running) expect(containersOf(rig, name).filter(({ status }) => status === "running")).toEqual([]);
}

/** After the reconciler has had time to finish. */
function runsAsAnswered(rig: AgentRig, name: string, { installed, running, version }: Expected): void {
  if (!installed || !running) return;
  const containers = containersOf(rig, name);
  expect(containers.map((container) => `${container.name} ${container.status}`)).toEqual([`${name} running`]);
  expect(appOf(rig, name)?.containerId).toBe(containers[0]?.id);
  expect(containers[0]?.request.environment).toEqual(version === undefined ? [] : [`VERSION=${version}`]);
}
