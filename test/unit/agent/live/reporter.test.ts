import { describe, expect, it } from "vitest";
import { ReportBuilder } from "../../../../src/agent/live/report-builder.ts";
import { Reporter } from "../../../../src/agent/live/reporter.ts";
import type { DeviceFacts, ReportDelta } from "../../../../src/protocol/app-report.ts";
import { reportDeltaSchema } from "../../../../src/protocol/app-report.ts";
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
async function setUp(maxPerHour = 12) {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  const { services } = rig;
  const stateDir = services.config.stateDir;
  const builder = new ReportBuilder({
    ...services,
    stateDir,
    facts: readFacts,
    isBusy: (app) => rig.deployments.isBusy(app),
  });
  const reporter = new Reporter({ ...services, store: rig.store, builder, stateDir, maxPerHour });
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
    expect(test.last()?.apps).toMatchObject([{ name: "app", state: "stopped" }]);
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
    expect(test.last()).toMatchObject({ apps: [], removed_apps: ["app"] });
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
      ...services,
      stateDir: services.config.stateDir,
      facts: readFacts,
      isBusy: () => false,
    });
    const { hash } = await other.buildComplete(new AbortController().signal);
    expect(hash).toBe(test.last()?.hash);
  });
});
