import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RELEASE_TYPES } from "../../../../src/lib/release/read-release.ts";
import type { ContainerSummary } from "../../../../src/agent/engine/engine.ts";
import type { TrialWatchOptions } from "../../../../src/agent/updates/trial-watch.ts";
import { watchTrial } from "../../../../src/agent/updates/watch-trial.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { waitFor } from "../../../support/wait-for.ts";
import { UpdateRig } from "../../../support/updates/update-rig.ts";

const VERSION = "1.1.0";
const CONTAINER = {
  id: "c1",
  status: "running",
  labels: { "io.edge-agent.app": "web", "io.edge-agent.deployment": "dep_1" },
} as unknown as ContainerSummary;

describe("the agent on trial", () => {
  let rig: UpdateRig;
  let clock: FakeClock;
  let ending: AbortController;
  let running: Promise<void>;
  let containers: readonly ContainerSummary[] | undefined;
  let onlineSince: number | undefined;
  let program: string;
  const apps = [{ name: "web", deploymentId: "dep_1", desired: "running", spec: {} }];

  beforeEach(async () => {
    rig = await UpdateRig.create();
    clock = new FakeClock();
    ending = new AbortController();
    running = Promise.resolve();
    containers = [CONTAINER];
    onlineSince = undefined;
    program = rig.path("releases", VERSION, "edge-agent.mjs");
  });
  afterEach(async () => {
    ending.abort();
    await running;
    await rig[Symbol.asyncDispose]();
  });

  const options = (): TrialWatchOptions =>
    ({
      versions: { releasesFolder: rig.path("releases"), stateDir: rig.path("state"), program, architecture: "amd64" },
      engine: {
        listContainers: () => (containers ? Promise.resolve([...containers]) : Promise.reject(new Error("no engine"))),
      },
      store: { apps: () => apps },
      isBusy: () => false,
      link: () => ({ state: onlineSince === undefined ? "waiting" : "online", sinceMs: onlineSince ?? 0 }),
      clock,
      logger: captureLogText().logger,
    }) as unknown as TrialWatchOptions;
  /** Starts it, and waits until it sleeps or has ended. */
  const start = async (): Promise<void> => {
    let hasEnded = false;
    running = watchTrial(options())
      .run(ending.signal)
      .finally(() => (hasEnded = true));
    await waitFor("the watch to sleep", () => hasEnded || clock.pending > 0);
  };
  const request = (): { action: string; again?: boolean } | undefined => {
    const path = rig.path("state/agent-update/request.json");
    return existsSync(path)
      ? (JSON.parse(readFileSync(path, "utf8")) as { action: string; again?: boolean })
      : undefined;
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      // What was due has run, and waits again.
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      await clock.advance(5_000);
    }
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  };
  const onTrial = async (): Promise<void> => {
    expect(await rig.install(VERSION)).toMatchObject({ ok: true });
    await rig.start();
    writeFileSync(program, "");
    rig.ask({ action: "install" });
  };

  it("confirms once it was online for 90 s with its apps as before, and the updater makes it the current version", async () => {
    await onTrial();
    await start();
    await pass(60_000);
    onlineSince = clock.monotonic();
    await pass(85_000);
    expect(request()?.action).toBe("install");
    await pass(10_000);
    expect(request()?.action).toBe("confirm");
    expect(await rig.handle()).toMatchObject({ ok: true, version: VERSION });
    await pass(10_000);
    await running;
    expect(rig.state).toMatchObject({ current: VERSION, trial: undefined });
  });

  it("asks again if there is no answer", async () => {
    await onTrial();
    onlineSince = 0;
    await start();
    await pass(100_000);
    expect(request()?.action).toBe("confirm");
    rig.ask({ action: "install" });
    await pass(70_000);
    expect(request()?.action).toBe("confirm");
  });

  it.each<[string, () => void]>([
    ["a link that drops every minute", () => (onlineSince = clock.monotonic())],
    ["an engine that does not answer", () => (containers = undefined)],
    ["an app whose container is another one", () => (containers = [{ ...CONTAINER, id: "c2" }])],
    ["an app that has stopped", () => (containers = [{ ...CONTAINER, status: "exited" }])],
  ])("does not confirm with %s", async (_what, happens) => {
    await onTrial();
    onlineSince = 0;
    await start();
    await pass(5_000);
    for (let minute = 0; minute < 5; minute++) {
      happens();
      await pass(60_000);
    }
    expect(request()?.action).toBe("install");
  });

  it("does nothing in the version before, while another one is on trial", async () => {
    await onTrial();
    program = rig.path("package/edge-agent.mjs");
    onlineSince = 0;
    await start();
    await pass(600_000);
    await running;
    expect(request()?.action).toBe("install");
  });

  const setAside = (line: string): void => {
    mkdirSync(rig.path("releases/set-aside"), { recursive: true });
    writeFileSync(rig.path("releases/set-aside", VERSION), `${line}\n`);
    program = rig.path("package/edge-agent.mjs");
  };

  it("tries a release again that could not confirm, once the version before was online for a minute", async () => {
    rig.handOver(await rig.release(VERSION));
    setAside("1 unconfirmed");
    await start();
    await pass(600_000);
    expect(request()?.again).toBeUndefined();
    onlineSince = clock.monotonic();
    await pass(70_000);
    expect(request()).toMatchObject({ action: "install", again: true });
    expect(await rig.handle()).toMatchObject({ ok: true });
    expect(rig.state.trial).toMatchObject({ version: VERSION, attempt: 2 });
  });

  it.each(["3 unconfirmed", "1 crashed", "1 pinned"])("leaves one alone that was set aside as %j", async (line) => {
    rig.handOver(await rig.release(VERSION));
    setAside(line);
    onlineSince = 0;
    await start();
    await pass(300_000);
    await running;
    expect(request()?.again).toBeUndefined();
  });

  it("is not ended by a folder of releases, a request or a layout that make no sense", async () => {
    setAside("\0");
    symlinkSync("../../etc", rig.path("releases/trial"));
    rig.ask({ action: "install" });
    mkdirSync(rig.path("state/agent-update/layout"));
    writeFileSync(join(rig.path("state/agent-update/layout"), "index.json"), RELEASE_TYPES.index);
    onlineSince = 0;
    await start();
    await pass(60_000);
    await running;
  });
});
