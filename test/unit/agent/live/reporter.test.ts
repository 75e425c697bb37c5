import { describe, expect, it } from "vitest";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { ReportBuilder } from "../../../../src/agent/live/report-builder.ts";
import { Reporter, type ReporterOptions } from "../../../../src/agent/live/reporter.ts";
import type { DeviceFacts, ReportDelta } from "../../../../src/protocol/apps/app-report.ts";
import { reportDeltaSchema } from "../../../../src/protocol/apps/app-report.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const FACTS: DeviceFacts = {
  agent_version: "1.2.3",
  engine: { kind: "docker", version: "20.10" },
  architecture: "amd64",
  os: "Linux",
  kernel: "6",
  hostname: "gw",
  model: null,
  cpus: 1,
  memory_total_bytes: 1,
  disk_total_bytes: 1,
};

const readFacts = async () => FACTS;

/** A rig that collects the deltas a control plane would receive. */
async function setUp(
  maxPerHour = 12,
  {
    facts = readFacts,
    ...more
  }: Pick<ReporterOptions, "clockWatch"> & { readonly facts?: () => Promise<DeviceFacts> } = {},
) {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  const { services } = rig;
  const stateDir = services.config.stateDir;
  const builder = new ReportBuilder({
    heldFor: () => undefined,
    ...services,
    stateDir,
    facts,
    isBusy: (app) => rig.deployments.isBusy(app),
  });
  const reporter = new Reporter({ ...services, store: rig.store, builder, stateDir, maxPerHour, ...more });
  const deltas: ReportDelta[] = [];
  builder.onReport(() => {
    const change = builder.since(deltas.at(-1)?.hash);
    if (change) deltas.push(reportDeltaSchema.parse(change));
  });
  const stop = new AbortController();
  const running = reporter.run(stop.signal);
  await rig.clock.advance(5_000);
  const deploy = async (id: string, fields: object = {}) => {
    rig.deployments.deploy(id, { name: "app", image: IMAGE, ...fields });
    await rig.untilEnd(id);
    await rig.clock.advance(5_000);
  };
  return {
    rig,
    builder,
    deltas,
    deploy,
    last: () => deltas.at(-1),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("test over"));
      await running;
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** Everything is masked, and still says what is declared secret. */
const MASKED = [
  { key: "MODE", value: "***" },
  { key: "TOKEN", value: "***", secret: true },
];

describe("reports", () => {
  it("begin with a complete one, and stay silent while nothing changes", async () => {
    await using test = await setUp();
    expect(test.deltas).toMatchObject([{ base: null, apps: [], device: { agent_version: "1.2.3" } }]);
    let calls = 0;
    using _calls = test.rig.engine.faults.onCall(() => void calls++);
    await test.rig.clock.advance(3_600_000);
    expect(test.deltas).toHaveLength(1);
    expect(calls).toBe(0);
  });

  it("say at once that the clock is wrong, and that it is right again, whatever the rate limit is", async () => {
    let [tell, isWrong] = [() => undefined as void, false];
    const clockWatch = {
      onChange: (watcher: () => void) => {
        tell = watcher;
        return { [Symbol.dispose]: () => undefined };
      },
    };
    const facts = async () => ({ ...FACTS, ...(isWrong && { clock_wrong: true }) });
    await using test = await setUp(0, { facts, clockWatch });
    for (isWrong of [true, false]) {
      tell();
      await test.rig.clock.advance(5_000);
      expect(test.last()?.device?.clock_wrong).toBe(isWrong || undefined);
    }
    expect(test.deltas).toHaveLength(3);
  });

  it("report the end of a deployment at once: the client may ask for the result next", async () => {
    await using test = await setUp();
    const { rig } = test;
    for (const [id, begin] of [
      ["d1", () => rig.deployments.deploy("d1", { name: "app", image: IMAGE })],
      ["d2", () => rig.deployments.change("d2", { action: "stop", app: "app" })],
    ] as const) {
      const before = test.deltas.length;
      begin();
      await rig.untilEnd(id);
      await rig.clock.advance(150);
      expect(test.deltas).toHaveLength(before + 1);
    }
    expect(test.last()).toMatchObject({ apps: [{ state: "stopped", last_deployment: { deployment_id: "d2" } }] });
  });

  it("report the result of a deployment, with the specification masked", async () => {
    await using test = await setUp();
    const environments = [
      { key: "MODE", value: "very-plain" },
      { key: "TOKEN", value: "very-secret", secret: true },
    ];
    await test.deploy("d1", { environments });
    expect(test.deltas).toHaveLength(2);
    expect(test.last()).toMatchObject({
      base: test.deltas[0]?.hash,
      removed_apps: [],
      apps: [
        {
          name: "app",
          state: "running",
          desired_state: "running",
          restarts: 0,
          spec: { image: IMAGE, environments: MASKED },
          last_deployment: { deployment_id: "d1", action: "deploy", status: "Success" },
        },
      ],
    });
    expect(test.last()).not.toHaveProperty("device");
    expect(JSON.stringify(test.deltas)).not.toMatch(/very-secret|very-plain/);
  });

  it("report changes of an app outside the agent, and nothing of foreign containers", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    const signal = new AbortController().signal;
    const foreign = { ...test.rig.engine.container("app")!.request, name: "foreign", labels: {} };
    await test.rig.engine.startContainer(await test.rig.engine.createContainer(foreign, signal), signal);
    await test.rig.clock.advance(10_000);
    expect(test.deltas).toHaveLength(2);
    test.rig.engine.container("app")!.stop();
    await test.rig.clock.advance(10_000);
    expect(test.last()?.apps).toMatchObject([{ name: "app", state: "stopped", last_exit: { code: 137 } }]);
    await test.rig.engine.removeContainer("app", signal);
    await test.rig.clock.advance(10_000);
    expect(test.last()?.apps).toMatchObject([{ name: "app", state: "missing", restarts: null, since: null }]);
  });

  it("report that an app was removed", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    test.rig.deployments.change("d2", { action: "remove", app: "app" });
    await test.rig.untilEnd("d2");
    await test.rig.clock.advance(5_000);
    expect(test.last()).toMatchObject({
      apps: [],
      removed_apps: ["app"],
      removals: [{ name: "app", by: "api", since: expect.any(Number) as unknown }],
    });
    // Once it is there again, nothing is said of that.
    await test.deploy("d3");
    expect(test.last()).toMatchObject({ removals: [] });
    await test.deploy("d4", { name: "other" });
    expect(test.last()).not.toHaveProperty("removals");
  });

  it("do not show an app that crashes in a loop as running, nor report each crash", async () => {
    await using test = await setUp(12);
    await test.deploy("d1");
    const container = test.rig.engine.container("app")!;
    const before = test.deltas.length;
    const states: string[] = [];
    test.builder.onReport(() => states.push(test.last()?.apps[0]?.state ?? ""));
    for (let minute = 0; minute < 120; minute++) {
      container.exit(1);
      await test.rig.clock.advance(60_000);
    }
    // A handful at once, and then one in five minutes.
    expect(test.deltas.length - before).toBeGreaterThan(12);
    expect(test.deltas.length - before).toBeLessThanOrEqual(6 + 24 + 1);
    expect(states.filter((state) => state === "restarting").length).toBeGreaterThan(states.length / 2);
    expect(test.rig.log.filter((line) => line.includes("reports are held back"))).toHaveLength(1);
    await test.rig.clock.advance(3_600_000);
    expect(test.last()?.apps).toMatchObject([{ state: "running", restarts: 120 }]);
  });

  it("say how an app in a crash loop ended, also while its next run goes on", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    expect(test.last()?.apps[0]).not.toHaveProperty("last_exit");
    for (let run = 0; run < 3; run++) {
      test.rig.engine.container("app")!.exit(3);
      await test.rig.clock.advance(10_000);
    }
    expect(test.last()?.apps).toMatchObject([{ state: "restarting", last_exit: { code: 3 } }]);
    await test.rig.clock.advance(600_000);
    expect(test.last()?.apps).toMatchObject([{ state: "running" }]);
    expect(test.last()?.apps[0]).not.toHaveProperty("last_exit");
  });

  it("report the result of a deployment at once, even if the rate limit is reached", async () => {
    await using test = await setUp(1);
    await test.deploy("d1");
    for (let i = 0; i < 20; i++) {
      test.rig.engine.container("app")!.exit(1);
      await test.rig.clock.advance(70_000);
    }
    test.rig.deployments.change("d2", { action: "stop", app: "app" });
    await test.rig.untilEnd("d2");
    await test.rig.clock.advance(5_000);
    expect(test.last()?.apps).toMatchObject([{ state: "stopped", desired_state: "stopped" }]);
  });

  it("report the first trouble of an app within seconds, however many deployments there were before", async () => {
    await using test = await setUp();
    await test.deploy("d0");
    for (let i = 1; i <= 10; i++) {
      test.rig.deployments.change(`d${i}`, { action: i % 2 === 1 ? "stop" : "start", app: "app" });
      await test.rig.untilEnd(`d${i}`);
      await test.rig.clock.advance(5_000);
    }
    test.rig.engine.container("app")!.exit(1);
    await test.rig.clock.advance(5_000);
    expect(test.last()?.apps).toMatchObject([{ name: "app", state: "restarting" }]);
  });

  it("report the first trouble of an app while another one has used up the rate", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    await test.deploy("d2", { name: "other" });
    for (let i = 0; i < 20; i++) {
      test.rig.engine.container("app")!.exit(1);
      await test.rig.clock.advance(70_000);
    }
    const before = test.deltas.length;
    test.rig.engine.container("other")!.exit(1);
    await test.rig.clock.advance(15_000);
    expect(test.deltas).toHaveLength(before + 1);
    expect(test.last()?.apps.find(({ name }) => name === "other")).toMatchObject({ state: "restarting" });
  });

  it("report trouble that begins while the agent is looking", async () => {
    await using test = await setUp();
    const { engine, clock } = test.rig;
    for (const name of ["app1", "app2", "loop"]) await test.deploy(`dep-${name}`, { name });
    while (test.builder.outdatedForS() === undefined) {
      engine.container("loop")!.exit(1);
      await clock.advance(70_000);
    }
    const looking = Promise.withResolvers<void>();
    const seen: string[] = [];
    using _hook = engine.faults.onCall(async ({ method, args, phase }) => {
      if (method !== "inspectContainer" || phase !== "after") return;
      seen.push(engine.container(String(args[0]))?.name ?? "");
      if (seen.length === 3) await looking.promise;
    });
    engine.container("loop")!.exit(1);
    await clock.advance(5_000);
    expect(seen).toHaveLength(3);
    const name = seen.find((each) => each !== "loop") ?? "";
    engine.container(name)!.exit(1);
    await clock.advance(1_000);
    looking.resolve();
    await clock.advance(15_000);
    expect(test.last()?.apps.find((app) => app.name === name)).toMatchObject({ state: "restarting" });
  });

  it("have a bound, however many apps get into trouble again and again", async () => {
    await using test = await setUp(12);
    const names = Array.from({ length: 10 }, (_, index) => `app${index}`);
    for (const name of names) await test.deploy(`dep-${name}`, { name });
    const before = test.deltas.length;
    for (let minute = 0; minute < 120; minute++) {
      // Every eleven minutes each: every crash is a first one.
      for (const [index, name] of names.entries()) {
        if (minute % 11 === index) test.rig.engine.container(name)!.exit(1);
      }
      await test.rig.clock.advance(60_000);
    }
    expect(test.deltas.length - before).toBeGreaterThan(30);
    expect(test.deltas.length - before).toBeLessThanOrEqual(2 * (6 + 24) + 1);
  });

  it("that are held back are announced once, from the moment of the first change, until the next report", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    const { clock, engine } = test.rig;
    const held: (number | undefined)[] = [];
    test.builder.onReport(() => held.push(test.builder.outdatedForS()));
    for (let i = 0; i < 20 && test.builder.outdatedForS() === undefined; i++) {
      engine.container("app")!.exit(1);
      await clock.advance(15_000);
    }
    expect(test.builder.outdatedForS()).toBeGreaterThanOrEqual(0);
    const announced = held.filter((age) => age !== undefined);
    expect(announced).toEqual([expect.toSatisfy((age: number) => age <= 10)]);
    const reports = test.deltas.length;
    await clock.advance(60_000);
    expect(test.builder.outdatedForS()).toBeGreaterThanOrEqual(60);
    expect(test.deltas).toHaveLength(reports);
    expect(held.filter((age) => age !== undefined)).toEqual(announced);
    await clock.advance(300_000);
    expect(test.deltas).toHaveLength(reports + 1);
    expect(held.at(-1)).toBeUndefined();
  });

  it("are not held back any more once everything is as it was reported", async () => {
    await using test = await setUp(1);
    await test.deploy("d1");
    const { clock, engine } = test.rig;
    const container = engine.container("app")!;
    for (let i = 0; i < 40 && test.builder.outdatedForS() === undefined; i++) {
      if (i % 2 === 0) container.pause();
      else container.unpause();
      await clock.advance(15_000);
    }
    expect(test.builder.outdatedForS()).toBeDefined();
    if (test.last()?.apps[0]?.state === "stopped") container.pause();
    else container.unpause();
    const reports = test.deltas.length;
    await clock.advance(3 * 3_600_000);
    expect(test.builder.outdatedForS()).toBeUndefined();
    expect(test.deltas).toHaveLength(reports);
  });

  it("count as held back while the engine does not respond", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    const { clock, engine } = test.rig;
    const error = new EngineError("unavailable", "the engine is down");
    {
      using _list = engine.faults.fail("listContainers", error, { times: Infinity });
      using _watch = engine.faults.fail("watchContainers", error, { times: Infinity });
      engine.breakEvents();
      await clock.advance(30_000);
      expect(test.builder.outdatedForS()).toBeGreaterThanOrEqual(20);
    }
    await clock.advance(180_000);
    expect(test.builder.outdatedForS()).toBeUndefined();
  });

  it("include changes made while the stream of engine events was broken", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    test.rig.engine.breakEvents();
    await test.rig.clock.advance(150);
    test.rig.engine.container("app")!.stop();
    await test.rig.clock.advance(120_000);
    expect(test.last()?.apps).toMatchObject([{ state: "stopped" }]);
  });

  it("are the same after a restart of the agent, and are not sent again", async () => {
    await using test = await setUp();
    await test.deploy("d1");
    const { services } = test.rig;
    const other = new ReportBuilder({
      heldFor: () => undefined,
      ...services,
      stateDir: services.config.stateDir,
      facts: readFacts,
      isBusy: () => false,
    });
    const { hash } = await other.buildComplete(new AbortController().signal);
    expect(hash).toBe(test.last()?.hash);
  });
});
