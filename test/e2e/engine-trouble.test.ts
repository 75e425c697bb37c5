import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { succeed } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { bigImage, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { Registry } from "../support/registry.ts";
import { startScriptedEngine } from "../support/scripted-engine.ts";
import { smallDisk, smallDiskUnavailableReason } from "../support/small-disk.ts";
import { page } from "../support/system/app-page.ts";
import { expectFailure } from "../support/system/expect-failure.ts";
import type { System } from "../support/system.ts";
import { sharedSystem, startTestSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const noEngine = await privateEngineUnavailableReason();
const noDisk = noEngine ?? (await smallDiskUnavailableReason());
const unless = (missing: string | undefined): string => (missing === undefined ? "" : ` (skipped: ${missing})`);

test("a configured socket without an engine: EngineUnavailable", async (context) => {
  const system = await startTestSystem(context, { engine: { socketPath: "/nonexistent/engine.sock" } });
  const { message } = await expectFailure(system, { name: system.name(), image: "any:1" }, "EngineUnavailable");
  expect(message).toMatch(/^The container engine does not answer: .*its socket does not exist/);
  expect(system.agent.isRunning).toBe(true);
});

describe("an engine that", () => {
  let answer = { status: 500, type: "text/plain", body: "" };
  const system = sharedSystem(async (owned) => {
    const engine = await startScriptedEngine((request, response) => {
      request.resume();
      response.writeHead(answer.status, { "Content-Type": answer.type }).end(answer.body);
    });
    return { engine: owned.use(engine) };
  });

  test.for([
    ["fails at everything", { status: 500, type: "application/json", body: '{"message":"boom"}' }],
    ["is no engine", { status: 200, type: "text/html", body: "<!doctype html>" }],
    ["answers with another shape", { status: 200, type: "application/json", body: '{"this":["is","not","it"]}' }],
  ] as const)("%s: Internal, and the agent keeps running", async ([, given]) => {
    answer = given;
    const { pid } = system().agent;
    const stacks = (): number =>
      system()
        .agent.log()
        .filter(({ level, err }) => level === "error" && JSON.stringify(err).includes("stack")).length;
    const before = stacks();
    for (const attempt of [1, 2]) {
      const { message } = await expectBroken(system(), attempt);
      expect(message).toMatch(/^The container engine failed: /);
    }
    expect(system().agent.pid).toBe(pid);
    expect(stacks()).toBeGreaterThan(before);
  });
});

async function expectBroken(system: System, attempt: number) {
  const { status, final } = await system.deploy({ name: system.name(`app${attempt}-`), image: "any:1" });
  expect({ status, final }).toMatchObject({ status: 200, final: { status: "Fail", code: "Internal" } });
  return final;
}

const waitsForEngine = ({ message }: DeploymentEvent): boolean => message.includes("waiting for it");

describe.skipIf(noEngine !== undefined)(`an engine that goes away${unless(noEngine)}`, () => {
  let engine: PrivateEngine;
  const system = sharedSystem(async (owned) => {
    engine = owned.use(await PrivateEngine.start());
    return { engine, agentConfig: { deploy: { settle_window_s: 0.5, engine_patience_s: 60 } } };
  });

  test("fails deployments while it is away, and is used again without a restart of the agent", async () => {
    const image = await system().load(await sleeperImage());
    const { pid } = system().agent;
    await engine.stop();
    const { message } = await expectFailure(system(), { name: system().name(), image }, "EngineUnavailable");
    expect(message).toMatch(/^The container engine does not answer: /);
    await engine.start();
    expect((await system().deploy({ name: system().name(), image })).final.status).toBe("Success");
    expect(system().agent.pid).toBe(pid);
  });

  test("is waited for if it is away at the start of the agent", async () => {
    const image = await system().load(await sleeperImage());
    await engine.stop();
    await system().agent.restart();
    await expectFailure(system(), { name: system().name(), image }, "EngineUnavailable");
    await engine.start();
    expect((await system().deploy({ name: system().name(), image })).final.status).toBe("Success");
  });

  test("is waited for if it is too busy to respond", async () => {
    const image = await system().load(await sleeperImage());
    const daemon = engine.pid ?? 0;
    process.kill(daemon, "SIGSTOP");
    try {
      const stream = await system().open({ name: system().name(), image });
      await stream.event("the wait for the engine", waitsForEngine);
      process.kill(daemon, "SIGCONT");
      expect((await system().finish(stream)).final.status).toBe("Success");
    } finally {
      process.kill(daemon, "SIGCONT");
    }
  });

  test("during a deployment is waited for", async () => {
    const image = await system().load(await webImage());
    const port = await freeHostPort();
    await system().agent.restart({ deploy: { settle_window_s: 20 } });
    const ports = [{ host_port: port, target_port: WEB_PORT }];
    const stream = await system().open({ name: system().name(), image, ports });
    await stream.event("verifying", ({ step }) => step === "verifying");
    await engine.stop();
    await stream.event("the wait for the engine", waitsForEngine);
    await engine.start();
    const { final, deploymentId } = await system().finish(stream);
    expect(final.status).toBe("Success");
    expect(await system().containersOf(deploymentId)).toHaveLength(1);
    expect(await page(port)).toContain("edge-agent test app");
  });
});

describe.skipIf(noEngine !== undefined)(`an engine that is replaced by another${unless(noEngine)}`, () => {
  let engine: PrivateEngine;
  let registry: Registry;
  let earlierId: string;
  const system = sharedSystem(async (owned) => {
    engine = owned.use(await PrivateEngine.start());
    registry = owned.use(await Registry.start());
    return { engine, agentConfig: { deploy: { settle_window_s: 20, engine_patience_s: 60 } } };
  });
  const replace = async (): Promise<void> => {
    await engine.stop();
    await engine.replace();
    await engine.start();
  };

  test("during a deployment: the image is pulled again, and the new app runs", async () => {
    const earlier = { name: system().name(), image: await registry.push(await sleeperImage(), "team/earlier:1") };
    earlierId = (await system().deploy(earlier)).deploymentId;
    const image = await registry.push(await webImage(), "team/web:1");
    const port = await freeHostPort();
    const ports = [{ host_port: port, target_port: WEB_PORT }];
    const stream = await system().open({ name: system().name(), image, ports });
    await stream.event("verifying", ({ step }) => step === "verifying");
    await replace();
    const { final, events, deploymentId } = await system().finish(stream);
    expect(final.status).toBe("Success");
    expect(events.map(({ message }) => message).join("\n")).toContain(
      "not on the device any more; it is fetched again",
    );
    expect(await system().containersOf(deploymentId)).toHaveLength(1);
    expect(await page(port)).toContain("edge-agent test app");
  });

  test("during a deployment of an image that no registry has: the deployment fails with the reason", async () => {
    const image = await system().load(await sleeperImage());
    const stream = await system().open({ name: system().name(), image });
    await stream.event("verifying", ({ step }) => step === "verifying");
    await replace();
    const { final, deploymentId } = await system().finish(stream);
    expect(final).toMatchObject({ status: "Fail", code: "ImagePullBackOff" });
    expect(await system().containersOf(deploymentId)).toEqual([]);
  });

  test("an app that ran before runs again", async () => {
    await waitFor(
      "the app that ran before to run",
      async () => (await system().containersOf(earlierId))[0]?.State === "running",
    );
  });
});

describe.skipIf(noEngine !== undefined)(`an engine with rules in the firewall${unless(noEngine)}`, () => {
  let engine: PrivateEngine;
  let deploymentId: string;
  let name: string;
  const system = sharedSystem(async (owned) => {
    engine = owned.use(await PrivateEngine.start({ ownNetwork: true }));
    return { engine, agentConfig: { deploy: { settle_window_s: 0.5 } } };
  });
  const change = async (method: string, action: string | undefined, body?: unknown) =>
    await system().finish(await system().change(method, name, action, body));
  const startedAt = async (): Promise<string> => (await system().inspect(deploymentId)).State.StartedAt;

  test("that it has lost: no update and no restart takes the app down, and both say what mends it", async () => {
    name = system().name();
    const image = await system().load(await sleeperImage());
    const ports = [{ host_port: await freeHostPort(), target_port: 80 }];
    ({ deploymentId } = await system().deploy({ name, image, ports }));
    const since = await startedAt();
    await engine.flushFirewall();
    for (const [method, action, body] of [
      ["PATCH", undefined, { environments: [{ key: "A", value: "1" }] }],
      ["POST", "restart", undefined],
    ] as const) {
      const { final } = await change(method, action, body);
      expect(final).toMatchObject({ code: "EngineRestartNeeded", details: { reason: "rules_lost" } });
    }
    expect(await startedAt()).toBe(since);
    await engine.stop();
    await engine.start();
    expect((await change("POST", "restart")).final.status).toBe("Success");
  });

  test("and an old version that cannot be removed: the update is a success, and the rest is removed later", async () => {
    const { GraphDriver } = await system().inspect(deploymentId);
    const stuck = join(GraphDriver?.Data["UpperDir"] ?? "", "stuck");
    await writeFile(stuck, "");
    await succeed("chattr", ["+i", stuck]);
    const { final, deploymentId: update } = await change("PATCH", undefined, {
      environments: [{ key: "B", value: "2" }],
    });
    expect(final).toMatchObject({
      status: "Success",
      details: { left_behind: [expect.stringMatching(/edge-agent-left$/)] },
    });
    expect((await system().inspect(update)).State.Status).toBe("running");
    await succeed("chattr", ["-i", stuck]);
    await system().agent.restart();
    await waitFor(
      "the old version to be removed",
      async () => (await system().containersOf(deploymentId)).length === 0,
    );
  });
});

describe.skipIf(noDisk !== undefined)(`a disk that is too small${unless(noDisk)}`, () => {
  const system = sharedSystem(async (owned) => {
    const disk = owned.use(await smallDisk(40));
    const engine = owned.use(await PrivateEngine.start({ dataRoot: disk.path }));
    return { engine, agentConfig: { deploy: { settle_window_s: 0.5, disk_reserve_bytes: 1_000_000 } } };
  });

  test("for the image fails with InsufficientDisk, and a smaller image is deployed afterwards", async () => {
    await using registry = await Registry.start();
    const tooBig = await registry.push(await bigImage(60), "team/too-big:1");
    const event = await expectFailure(system(), { name: system().name(), image: tooBig }, "InsufficientDisk");
    expect(event.message).toMatch(/^The image needs about \d+ MB of disk space to be downloaded and unpacked; /);
    expect(event.details).toMatchObject({ reserve_bytes: 1_000_000, free_bytes: expect.any(Number) as number });
    const fits = await registry.push(await bigImage(1), "team/fits:1");
    const { deploymentId } = await system().deploy({ name: system().name(), image: fits });
    await waitFor("the app", async () => (await system().inspect(deploymentId)).State.Status === "running");
  });
});
