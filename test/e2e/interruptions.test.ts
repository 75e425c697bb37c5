import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import type { EventStream } from "../support/event-stream.ts";
import { freeHostPort } from "../support/free-port.ts";
import { bigImage, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { SlowLink } from "../support/slow-link.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import type { AppRequest } from "../support/system.ts";

const system = sharedSystem();

/** A deployment that stands still in one of its steps. */
interface HeldApp {
  readonly app: AppRequest;
  /** Lets it go on. */
  readonly release: () => Promise<void>;
}

/** An app whose image takes two minutes to pull until it is released. */
async function pullingApp(): Promise<HeldApp> {
  const registry = await Registry.start();
  onTestFinished(() => registry[Symbol.asyncDispose]());
  const link = await SlowLink.to(registry.port, 50_000);
  onTestFinished(() => link[Symbol.asyncDispose]());
  const image = await registry.push(await bigImage(6), "team/slow:1");
  const app = { name: system().name(), image: system().removeImageLater(image.replace(registry.host, link.host)) };
  return { app, release: async () => void (link.bytesPerSecond = Infinity) };
}

/** An app that is not healthy until it is released. */
async function verifyingApp(): Promise<HeldApp & { readonly port: number }> {
  const { port, ...app } = await webApp();
  const gate = join(system().directory, app.name);
  await mkdir(gate);
  const healthcheck = { command: ["busybox", "test", "-e", "/gate/open"], interval_s: 1, retries: 100 };
  const volumes = [{ local: gate, target: "/gate" }];
  const release = (): Promise<void> => writeFile(join(gate, "open"), "");
  return { app: { ...app, volumes, healthcheck, health_timeout_s: 600 }, release, port };
}

async function webApp(): Promise<AppRequest & { readonly port: number }> {
  const port = await freeHostPort();
  const image = await system().load(await webImage());
  const app = { name: system().name(), image, ports: [{ host_port: port, target_port: WEB_PORT }] };
  // Not enumerable, since it is not part of the request.
  return Object.defineProperty(app, "port", { value: port }) as typeof app & { port: number };
}

const pulling = (stream: EventStream): Promise<unknown> =>
  stream.event("progress of the pull", ({ progress }) => progress !== undefined);
const verifying = (stream: EventStream): Promise<unknown> =>
  stream.event("verifying", ({ step }) => step === "verifying");

test("a client that disconnects does not stop the deployment", async () => {
  const { port, ...app } = await webApp();
  const stream = await system().open(app);
  await stream.event("the start", ({ step }) => step === "starting");
  stream[Symbol.dispose]();
  const { deploymentId } = stream;
  const { events, final } = await system().finish(await system().follow(deploymentId));
  expect(final).toMatchObject({ status: "Success", deployment_id: deploymentId });
  expect(events[0]).toMatchObject({ seq: 1, step: "received" });
  expect(await system().record(deploymentId)).toMatchObject({ status: "Success", last_seq: final.seq });
  expect(await page(port)).toContain("edge-agent test app");
});

test.each([
  ["its pull", pullingApp, pulling],
  ["its verification", verifyingApp, verifying],
])(
  "an agent killed in %s continues the deployment after its restart, and so does the stream",
  async (_what, makeApp, reached) => {
    const { app, release } = await makeApp();
    const stream = await system().open(app);
    await reached(stream);
    await system().agent.kill();
    await stream.event("the loss", ({ details }) => details?.["connection"] === "lost");
    await system().agent.start();
    await release();
    const { events, final, deploymentId } = await system().finish(stream);
    expect(final.status).toBe("Success");
    expect(events.map(({ details }) => details?.["connection"]).filter(Boolean)).toEqual(["lost", "restored"]);
    expect(events.map(({ message }) => message)).toContain("The agent was restarted; the deployment goes on.");
    expect(await system().containersOf(deploymentId)).toMatchObject([{ State: "running" }]);
  },
);

test("a service killed during a deployment completes the record after its restart", async () => {
  const { app, release } = await pullingApp();
  const stream = await system().open(app);
  await pulling(stream);
  await system().control.kill();
  await release();
  expect(await stream.ended).toBe(false);
  await system().control.start();
  await completes(stream);
});

test("a service stopped during a deployment says where the stream continues, and completes it there", async () => {
  const { app, release } = await pullingApp();
  const stream = await system().open(app);
  await pulling(stream);
  expect(await system().control.stop()).toBe(0);
  await release();
  expect(await stream.ended).toBe(true);
  const { seq, status, details } = stream.events.at(-1) ?? {};
  const { asset } = system();
  const resume = `/v1/assets/${asset.uuid}/edge/deployments/${stream.deploymentId}/events?after=${seq}`;
  expect({ status, details }).toEqual({ status: "Running", details: { resume } });
  await system().control.start();
  await completes(stream);
});

/** Resumes a deployment's stream and checks that both streams together have every event once. */
async function completes(stream: EventStream): Promise<void> {
  const { deploymentId, events: first } = stream;
  const last = first.at(-1)?.seq ?? 0;
  const { events, final } = await system().finish(await system().follow(deploymentId, last));
  expect(final.status).toBe("Success");
  expect(first.some(isFinal)).toBe(false);
  expect([...first, ...events].map(({ seq }) => seq)).toEqual(
    Array.from({ length: final.seq }, (_, index) => index + 1),
  );
  const whole = await system().finish(await system().follow(deploymentId));
  expect(whole.events).toEqual([...first, ...events]);
  expect(await system().record(deploymentId)).toMatchObject({ status: "Success", last_seq: final.seq });
  expect(await system().containersOf(deploymentId)).toMatchObject([{ State: "running" }]);
}

test("a deployment survives a temporary loss of the link", async () => {
  const { app, release, port } = await verifyingApp();
  const stream = await system().open(app);
  await verifying(stream);
  system().link.sever();
  try {
    await stream.event("the loss", ({ details }) => details?.["connection"] === "lost");
    await release();
    // The device completes the deployment while it is offline.
    await system().agent.waitForLog("success", ({ status, deployment }) => {
      return status === "Success" && deployment === stream.deploymentId;
    });
    expect(stream.events.some(isFinal)).toBe(false);
  } finally {
    system().link.restore();
  }
  const { events, final } = await system().finish(stream);
  expect(final.status).toBe("Success");
  expect(events.map(({ details }) => details?.["connection"]).filter(Boolean)).toEqual(["lost", "restored"]);
  expect(await page(port)).toContain("edge-agent test app");
});

test.each(["SIGTERM", "SIGKILL"] as const)(
  "an app keeps running when its agent gets %s and comes back",
  async (signal) => {
    const { port, ...app } = await webApp();
    const { deploymentId } = await system().deploy(app);
    const before = await system().inspect(deploymentId);
    system().agent.signal(signal);
    await system().agent.exited();
    expect(await page(port)).toContain("edge-agent test app");
    await system().agent.start();
    // Another deployment shows that the agent has finished its startup reconciliation.
    const other = { name: system().name(), image: await system().load(await sleeperImage()) };
    expect((await system().deploy(other)).final.status).toBe("Success");
    const after = await system().inspect(deploymentId);
    expect({ id: after.Id, startedAt: after.State.StartedAt }).toEqual({
      id: before.Id,
      startedAt: before.State.StartedAt,
    });
    expect(await page(port)).toContain("edge-agent test app");
  },
);
