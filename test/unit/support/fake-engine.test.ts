import { expect, test } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeEngine } from "../../support/fake-engine.ts";
import type { FakeBehaviour } from "../../support/fake-engine/fake-image.ts";
import type { EngineCall } from "../../support/fake-engine/faults.ts";

const unaborted = new AbortController().signal;

async function rig(behaviour: FakeBehaviour = {}) {
  const clock = new FakeClock();
  const engine = new FakeEngine(clock);
  engine.addImage("app:1", { behaviour });
  const create = (name: string): Promise<string> =>
    engine.createContainer(
      {
        name,
        image: "app:1",
        labels: {},
        environment: [],
        ports: [],
        volumes: [],
        hostNetwork: false,
        privileged: false,
        restartPolicy: "unless-stopped",
        logLimit: { maxBytes: 1, maxFiles: 1 },
      },
      unaborted,
    );
  const id = await create("app");
  return { clock, engine, id, create, state: () => engine.container(id)?.state };
}

test("a crash loop slows down as Docker's does", async () => {
  const { clock, engine, id, state } = await rig({ exit: { code: 3, afterMs: 50 } });
  await engine.startContainer(id, unaborted);
  expect(state()).toMatchObject({ status: "running", restartCount: 0 });
  await clock.advance(50);
  expect(state()).toMatchObject({ status: "restarting", exitCode: 3, restartCount: 1 });
  await clock.advance(100);
  expect(state()).toMatchObject({ status: "running", exitCode: 0, restartCount: 1 });
  await clock.advance(50 + 199);
  expect(state()).toMatchObject({ status: "restarting", restartCount: 2 });
  await clock.advance(1);
  expect(state()).toMatchObject({ status: "running", restartCount: 2 });
});

test("a run that lasted begins the waits anew", async () => {
  const { clock, engine, id, state } = await rig({ exit: { code: 0, afterMs: 10_000 } });
  await engine.startContainer(id, unaborted);
  for (let restart = 1; restart <= 4; restart++) {
    await clock.advance(10_100);
    expect(state()).toMatchObject({ status: "running", restartCount: restart });
  }
});

test("a removed container does nothing more", async () => {
  const { clock, engine, id } = await rig({
    exit: { code: 1, afterMs: 10 },
    health: { becomes: "healthy", afterMs: 5 },
  });
  await engine.startContainer(id, unaborted);
  await engine.removeContainer(id, unaborted);
  expect(clock.pending).toBe(0);
  expect(engine.containers).toEqual([]);
});

test("a reboot starts what was running, and nothing else", async () => {
  const { clock, engine, id, create, state } = await rig();
  const other = await create("never-started");
  await engine.startContainer(id, unaborted);
  const before = state()?.startedAt;
  await clock.advance(1000);
  engine.reboot();
  expect(state()).toMatchObject({ status: "running" });
  expect(state()?.startedAt).not.toBe(before);
  expect(engine.container(other)?.status).toBe("created");
});

test("a fault before a call leaves the work undone, one after it does not", async () => {
  const { engine, id, state } = await rig();
  const error = new EngineError("unavailable", "gone");
  engine.faults.fail("startContainer", error);
  await expect(engine.startContainer(id, unaborted)).rejects.toBe(error);
  expect(state()?.status).toBe("created");
  engine.faults.fail("startContainer", error, { phase: "after" });
  await expect(engine.startContainer(id, unaborted)).rejects.toBe(error);
  expect(state()?.status).toBe("running");
  await engine.startContainer(id, unaborted);
});

test("a call that hangs ends with its signal, or goes on when it is let go", async () => {
  const { engine, id } = await rig();
  const abort = new AbortController();
  const hang = engine.faults.hang("startContainer");
  const aborted = expect(engine.startContainer(id, abort.signal)).rejects.toThrow("enough");
  const released = engine.startContainer(id, unaborted);
  expect(hang.waiting).toBe(2);
  abort.abort(new Error("enough"));
  await aborted;
  hang[Symbol.dispose]();
  await released;
  expect(engine.container(id)?.status).toBe("running");
});

test("a hook sees every call, before and after its work", async () => {
  const { engine, id } = await rig();
  const seen: Pick<EngineCall, "method" | "phase">[] = [];
  {
    using _hook = engine.faults.onCall(({ method, phase }) => void seen.push({ method, phase }));
    await engine.startContainer(id, unaborted);
  }
  await engine.info(unaborted);
  expect(seen).toEqual([
    { method: "startContainer", phase: "before" },
    { method: "startContainer", phase: "after" },
  ]);
});

test("a slow pull moves with the clock and can be aborted", async () => {
  const { clock, engine } = await rig();
  engine.publish("remote:1", { layers: [1000], pullMs: 1000 });
  const seen: number[] = [];
  const pulling = engine.pullImage("remote:1", ({ done }) => void seen.push(done), unaborted);
  await clock.advance(500);
  expect(seen).toEqual([100, 200, 300, 400, 500]);
  await clock.advance(500);
  await pulling;
  const abort = new AbortController();
  engine.removeImage("remote:1");
  const again = expect(engine.pullImage("remote:1", () => {}, abort.signal)).rejects.toThrow("enough");
  await clock.advance(500);
  abort.abort(new Error("enough"));
  await again;
  expect(await engine.inspectImage("remote:1", unaborted)).toBeUndefined();
});
