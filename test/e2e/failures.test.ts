import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freeHostPort, freePort } from "../support/free-port.ts";
import {
  bigImage,
  brokenImage,
  crashLoopImage,
  environmentImage,
  NEVER_CHECKED,
  foreignImage,
  healthImage,
  type Image,
  sleeperImage,
  WEB_PORT,
} from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { SlowLink } from "../support/slow-link.ts";
import { expectFailed, expectFailure } from "../support/system/expect-failure.ts";
import type { AgentConfig } from "../support/system/agent.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import type { AppRequest, System } from "../support/system.ts";
import { waitFor } from "../support/wait-for.ts";

let registry: Registry;
let closedRegistry: Registry;
beforeAll(async () => {
  registry = await Registry.start();
  closedRegistry = await Registry.start({ user: { name: "user", password: "secret" } });
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await closedRegistry[Symbol.asyncDispose]();
});

/** Returns a request with a port, to check that the port is free afterwards. */
async function app(system: System, image: string): Promise<AppRequest> {
  return { name: system.name(), image, ports: [{ host_port: await freeHostPort(), target_port: WEB_PORT }] };
}

const system = sharedSystem();

/** Restarts the agent with this configuration for the tests of the `describe`. */
const configured = (config: AgentConfig): void => beforeAll(() => system().agent.restart(config));

const load = async (image: Image): Promise<AppRequest> => app(system(), await system().load(image));

const mount = (local: string): Partial<AppRequest> => ({ volumes: [{ local, target: "/data" }] });

describe("an image that cannot be pulled: ImagePullBackOff", () => {
  configured({ deploy: { pull_attempts: 2 } });

  const images: [string, () => Promise<string> | string, string, RegExp][] = [
    ["unknown", () => `${registry.host}/team/missing:1`, "image_not_found", /^The registry has no such image: /],
    [
      "denied",
      async () => closedRegistry.push(await sleeperImage(), "team/secret:1"),
      "image_denied",
      /^The registry denies access to the image: /,
    ],
    [
      "for another platform",
      async () => registry.push(await foreignImage(), "team/foreign:1"),
      "wrong_platform",
      /^The image is not built for this device: /,
    ],
    [
      "in a registry that cannot be reached",
      async () => `127.0.0.1:${await freePort()}/team/app:1`,
      "registry_unreachable",
      /^The registry could not be reached: /,
    ],
  ];

  test.each(images)("%s", async (_what, reference, reason, message) => {
    const request = await app(system(), await reference());
    const deployed = await system().deploy(request);
    const event = await expectFailed(system(), deployed, request, "ImagePullBackOff");
    expect(event).toMatchObject({ step: "pulling", details: { reason, image: request.image } });
    expect(event.message).toMatch(message);
    const retries = deployed.events.filter(({ message }) => message.includes("attempt 2 of 2"));
    expect(retries).toHaveLength(reason === "registry_unreachable" ? 1 : 0);
  });
});

describe("an app that does not stay up", () => {
  configured({ deploy: { settle_window_s: 2, health_timeout_s: 10 } });

  test("CrashLoopBackOff, with its exit code and last log lines", async () => {
    const event = await expectFailure(system(), await load(await crashLoopImage(7)), "CrashLoopBackOff");
    expect(event).toMatchObject({
      step: "verifying",
      message: "The app stopped with exit code 7 while it was being verified.",
      details: { exit_code: 7, oom_killed: false },
    });
    expect(event.details?.["logs"]).toEqual(expect.arrayContaining(["starting", "cannot go on"]));
  });

  test("CrashLoopBackOff for an app that runs briefly each time", async () => {
    const event = await expectFailure(system(), await load(await crashLoopImage(3, 1)), "CrashLoopBackOff");
    expect(event.details).toMatchObject({ exit_code: 3, restart_count: expect.any(Number) as number });
  });

  test("CrashLoopBackOff for an app that exits with 0, without its secrets", async () => {
    const environments = [{ key: "DB_PASSWORD", value: "s3cret-value-in-the-log", secret: true }];
    const request = { ...(await load(await environmentImage({ Healthcheck: NEVER_CHECKED }))), environments };
    const event = await expectFailure(system(), request, "CrashLoopBackOff");
    expect(event.details).toMatchObject({ exit_code: 0 });
    expect(event.details?.["logs"]).toContain("DB_PASSWORD=***");
    expect(JSON.stringify(event)).not.toContain("s3cret");
  });

  test("Unhealthy, with the last output of its check", async () => {
    const event = await expectFailure(system(), await load(await healthImage("never")), "Unhealthy");
    expect(event).toMatchObject({
      step: "verifying",
      message: "The app's health check reports unhealthy.",
      details: { health: "unhealthy", output: expect.stringContaining("not yet") as string },
    });
  });

  test("Unhealthy, if it does not become healthy in time", async () => {
    const request = { ...(await load(await healthImage(60))), health_timeout_s: 2 };
    const event = await expectFailure(system(), request, "Unhealthy");
    expect(event).toMatchObject({
      message: "The app's health check did not become healthy within 2 s, the app's health_timeout_s.",
      details: { health: "starting", limit_s: 2, limit_from: "health_timeout_s", logs: [] },
    });
  });

  test("not Unhealthy, while the start period of its check lasts", async () => {
    await system().agent.restart({ deploy: { health_timeout_s: 1 } });
    const { final } = await system().deploy(await load(await healthImage(5)));
    expect(final).toMatchObject({ status: "Success" });
  });
});

describe("a request that the engine refuses", () => {
  configured({});

  test("names a directory that cannot be created: InvalidRequest", async () => {
    const request = { ...(await app(system(), await system().load(await sleeperImage()))), ...mount("/proc/no/such") };
    const event = await expectFailure(system(), request, "InvalidRequest");
    expect(event.message).toContain("/proc/no/such");
  });

  test("names a command that does not exist: InvalidRequest", async () => {
    const request = await app(system(), await system().load(await brokenImage()));
    const event = await expectFailure(system(), request, "InvalidRequest");
    expect(event).toMatchObject({ step: "starting", message: expect.stringContaining("no-such-program") as string });
  });
});

describe("a request that the device's policy forbids: PolicyDenied", () => {
  let locked: string;
  let link: string;
  beforeAll(async () => {
    const { directory, agent } = system();
    locked = join(directory, "locked");
    link = join(directory, "link");
    await mkdir(join(locked, "below"), { recursive: true });
    await symlink(locked, link);
    const mounts = { deny: [locked] };
    await agent.restart({
      policy: { privileged: false, host_network: false, mounts, registries: { allow: ["localhost"] } },
    });
  });

  const rows: [string, () => Partial<AppRequest>, string][] = [
    ["privileged", () => ({ privileged: true }), "policy.privileged"],
    ["host network", () => ({ host_network: true }), "policy.host_network"],
    ["a mount", () => mount(join(locked, "below")), "policy.mounts.deny"],
    ["a mount of a parent directory", () => mount(system().directory), "policy.mounts.deny"],
    ["a mount through a symbolic link", () => mount(join(link, "below")), "policy.mounts.deny"],
    ["a mount of the engine's socket", () => mount(system().engineSocket), "policy.mounts.allow"],
    ["a mount of the agent's own state", () => mount(system().agent.stateDir), "policy.mounts.allow"],
    ["another registry", () => ({ image: "elsewhere.example/team/app:1" }), "policy.registries.allow"],
  ];

  test.each(rows)("%s", async (_what, changes, rule) => {
    const request = { ...(await app(system(), "localhost/any:1")), ...changes() };
    const event = await expectFailure(system(), request, "PolicyDenied");
    expect(event).toMatchObject({
      step: "checking",
      message: expect.stringMatching(/^This device does not allow /) as string,
      details: { rule },
    });
  });

  test("other requests are allowed", async () => {
    const image = await system().load(await sleeperImage());
    const request = { ...(await app(system(), image)), ...mount(join(system().directory, "free")) };
    expect((await system().deploy(request)).final.status).toBe("Success");
  });
});

describe("too little disk space: InsufficientDisk", () => {
  const reserve = 1_000_000_000_000_000;
  configured({ deploy: { disk_reserve_bytes: reserve } });

  test("shows the available and the reserved space", async () => {
    const event = await expectFailure(system(), await app(system(), "any:1"), "InsufficientDisk");
    expect(event).toMatchObject({
      step: "checking",
      message: expect.stringMatching(/^Only \d+ MB are free where images are kept/) as string,
      details: { reserve_bytes: reserve, free_bytes: expect.any(Number) as number },
    });
  });
});

async function restartService(...flags: readonly string[]): Promise<void> {
  await system().control.stop();
  system().control.useFlags(...flags);
  await system().control.start();
  await system().untilOnline();
}

describe("a deployment that does not end in time: DeploymentTimeout", () => {
  configured({});

  beforeEach(() => restartService("--deployment-timeout-s", "3"));

  test("during its pull: the device stops it", async () => {
    await using slow = await SlowLink.to(registry.port, 200_000);
    const image = (await registry.push(await bigImage(20), "team/slow:1")).replace(registry.host, slow.host);
    await expectTimeout(await app(system(), image));
  });

  test("after its start: the device removes the app", async () => {
    await expectTimeout(await app(system(), await system().load(await healthImage(60))));
  });
});

async function expectTimeout(request: AppRequest): Promise<void> {
  const { status, final, deploymentId } = await system().deploy(request);
  expect({ status, final }).toMatchObject({ status: 200, final: { status: "Fail", code: "DeploymentTimeout" } });
  expect(final.message).toBe("The deployment did not end in time; the device was told to cancel it.");
  await system().agent.waitForLog(
    "the end of the deployment",
    (line) => line["deployment"] === deploymentId && line["code"] === "DeploymentCancelled",
  );
  await waitFor("its container to be gone", async () => (await system().containersOf(deploymentId)).length === 0);
  // The name and the port are free again; this deployment has enough time.
  await restartService();
  const again = { ...request, image: await system().load(await sleeperImage()) };
  expect((await system().deploy(again)).final.status).toBe("Success");
}
