import { describe, expect, it } from "vitest";
import { readAppStats } from "../../../../src/agent/apps/app-stats.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { type AppStats, appStatsSchema } from "../../../../src/protocol/apps/app-stats.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

const IMAGE = "example/app:1";

async function deployed(...names: string[]): Promise<AgentRig> {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  for (const name of names) {
    rig.deployments.deploy(name, { name, image: IMAGE, host_network: name === "host" });
    await rig.untilEnd(name);
  }
  return rig;
}

/** Measures in the background. */
function measuring(rig: AgentRig, request: { app?: string; follow?: boolean; intervalMs?: number } = {}) {
  const stop = new AbortController();
  const results: AppStats[] = [];
  const ended = (async () => {
    const measured = readAppStats({ follow: false, intervalMs: 2_000, ...request }, rig.services, stop.signal);
    for (;;) {
      const next = await measured.next();
      if (next.done) return next.value;
      results.push(appStatsSchema.parse(next.value));
    }
  })();
  ended.catch(() => undefined);
  return { results, ended, stop: () => stop.abort(new Error("enough")) };
}

describe("what the apps use", () => {
  it("is measured over a second, each app by name", async () => {
    await using rig = await deployed("web", "host", "db");
    const { results, ended } = measuring(rig);
    await rig.clock.advance(999);
    expect(results).toEqual([]);
    await rig.clock.advance(1);
    expect(await ended).toBe("read");
    expect(results).toHaveLength(1);
    expect(results[0]?.apps.map(({ app }) => app)).toEqual(["db", "host", "web"]);
    expect(results[0]?.apps[0]).toEqual({
      app: "db",
      state: "running",
      cpu_percent: 10,
      memory_bytes: 12_000_000,
      memory_limit_bytes: 1_000_000_000,
      network: { received_bytes: 2_000, sent_bytes: 1_000, received_bytes_per_s: 0, sent_bytes_per_s: 0 },
      disk: { read_bytes: 4_000, written_bytes: 3_000, read_bytes_per_s: 0, written_bytes_per_s: 0 },
      writable_bytes: 5_000,
      processes: 2,
    });
    expect(results[0]?.apps[1]).toMatchObject({ network: null, cpu_percent: 10 });
    expect(results[0]?.measured_at).toBe(Math.floor(rig.clock.now() / 1000));
  });

  it("is that of one app on request, and of no app that does not exist", async () => {
    await using rig = await deployed("web", "db");
    const { results, ended } = measuring(rig, { app: "web" });
    await rig.clock.advance(1_000);
    await ended;
    expect(results[0]?.apps.map(({ app }) => app)).toEqual(["web"]);
    await expect(measuring(rig, { app: "nobody" }).ended).rejects.toMatchObject({ code: "AppNotFound" });
  });

  it("is unknown for an app that does not run, except its size on disk", async () => {
    await using rig = await deployed("web");
    rig.deployments.change("s", { action: "stop", app: "web" });
    await rig.untilEnd("s");
    const { results, ended } = measuring(rig);
    await rig.clock.advance(1_000);
    await ended;
    expect(results[0]?.apps[0]).toMatchObject({ state: "stopped", cpu_percent: null, memory_bytes: null });
    expect(results[0]?.apps[0]).toMatchObject({ network: null, disk: null, writable_bytes: 5_000 });
  });

  it("comes without the sizes that the engine takes too long for", async () => {
    await using rig = await deployed("web");
    using _slow = rig.engine.faults.hang("writableBytes");
    const { results, ended } = measuring(rig);
    await rig.clock.advance(4_999);
    expect(results).toEqual([]);
    await rig.clock.advance(1);
    await ended;
    expect(results[0]?.apps[0]).toMatchObject({ memory_bytes: 12_000_000, writable_bytes: null });
  });

  it("is measured again at the interval, without sizes, until nobody wants it", async () => {
    await using rig = await deployed("web");
    const live = measuring(rig, { follow: true, intervalMs: 5_000 });
    await rig.clock.advance(1_000);
    expect(live.results).toHaveLength(1);
    await rig.clock.advance(4_999);
    expect(live.results).toHaveLength(1);
    await rig.clock.advance(5_001);
    expect(live.results).toHaveLength(3);
    expect(live.results[2]?.apps[0]).toMatchObject({ cpu_percent: 10, writable_bytes: null });
    live.stop();
    await expect(live.ended).rejects.toThrow("enough");
    let calls = 0;
    using _calls = rig.engine.faults.onCall(() => void calls++);
    await rig.clock.advance(60_000);
    expect(calls).toBe(0);
  });

  it("has no rates of an app that was started in between", async () => {
    await using rig = await deployed("web");
    const { results, ended } = measuring(rig);
    await rig.clock.advance(500);
    rig.engine.container("web")?.start();
    await rig.clock.advance(500);
    await ended;
    expect(results[0]?.apps[0]).toMatchObject({ cpu_percent: null, memory_bytes: 12_000_000 });
  });

  it("ends when the one app is removed", async () => {
    await using rig = await deployed("web");
    const live = measuring(rig, { app: "web", follow: true });
    await rig.clock.advance(1_000);
    rig.deployments.change("r", { action: "remove", app: "web" });
    await rig.untilEnd("r");
    await rig.clock.advance(2_000);
    expect(await live.ended).toBe("removed");
  });

  it.each([
    ["fails", (rig: AgentRig) => rig.engine.faults.fail("inspectContainer", new EngineError("unavailable", "gone"))],
    ["hangs", (rig: AgentRig) => rig.engine.faults.hang("containerUsage")],
  ])("is an error if the engine %s", async (_name, breakIt) => {
    await using rig = await deployed("web");
    using _broken = breakIt(rig);
    const { ended } = measuring(rig, { follow: true });
    await rig.clock.advance(10_000);
    await expect(ended).rejects.toMatchObject({ code: "EngineUnavailable" });
  });
});
