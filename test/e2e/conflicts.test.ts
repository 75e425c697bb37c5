import { createServer, type ListenOptions } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { freeHostPort } from "../support/free-port.ts";
import { bigImage, engineRequest, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { SlowLink } from "../support/slow-link.ts";
import { page } from "../support/system/app-page.ts";
import { expectFailed, expectFailure } from "../support/system/expect-failure.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import type { AppRequest, Deployed } from "../support/system.ts";

const system = sharedSystem();

const on = (...ports: readonly number[]): Required<Pick<AppRequest, "ports">> => ({
  ports: ports.map((host_port) => ({ host_port, target_port: WEB_PORT })),
});

async function listen(options: ListenOptions): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, resolve);
  });
  onTestFinished(() => new Promise((closed) => void server.close(() => closed())));
}

/** Runs a container that is not the agent's. */
async function foreignContainer(name: string, image: string, hostPort?: number): Promise<void> {
  const bindings = { [`${WEB_PORT}/tcp`]: [{ HostPort: String(hostPort) }] };
  const body = JSON.stringify({
    Image: image,
    ExposedPorts: { [`${WEB_PORT}/tcp`]: {} },
    HostConfig: hostPort === undefined ? {} : { PortBindings: bindings },
  });
  const headers = { "Content-Type": "application/json" };
  const socket = system().engineSocket;
  const created = await engineRequest(socket, "POST", `/containers/create?name=${name}`, { headers, body });
  const { Id } = JSON.parse(created.body) as { Id: string };
  expect((await engineRequest(socket, "POST", `/containers/${Id}/start`)).status).toBe(204);
}

/** Starts a deployment that stays in its pull until the end of the test. */
async function slowDeployment(app: Omit<AppRequest, "image">): Promise<string> {
  const registry = await Registry.start();
  onTestFinished(() => registry[Symbol.asyncDispose]());
  const link = await SlowLink.to(registry.port, 100_000);
  onTestFinished(() => link[Symbol.asyncDispose]());
  const image = (await registry.push(await bigImage(10), "team/slow:1")).replace(registry.host, link.host);
  const stream = await system().open({ ...app, image });
  onTestFinished(() => stream[Symbol.dispose]());
  await stream.event("the pull", ({ step }) => step === "pulling");
  onTestFinished(async () => {
    await fetch(system().deploymentUrl(stream.deploymentId), {
      method: "DELETE",
      headers: { "X-API-Key": system().account.apiKey },
    });
    await expectFailed(system(), await system().finish(stream), { ...app, image }, "DeploymentCancelled");
  });
  return stream.deploymentId;
}

async function expectTaken(app: AppRequest, details: object): Promise<void> {
  expect(await expectFailure(system(), app, "ErrorPortInUse")).toMatchObject({
    message: "The desired port is already in use.",
    details,
  });
}

const outcome = ({ final }: Deployed): string => final.code ?? final.status;

async function expectLosersGone(ended: readonly Deployed[]): Promise<void> {
  for (const { final, deploymentId } of ended) {
    expect(await system().containersOf(deploymentId)).toHaveLength(final.status === "Success" ? 1 : 0);
  }
}

describe("a port", () => {
  test.each([29_999, 32_768, 80, 0, -1, 65_536])("%j outside of the range is refused", async (port) => {
    const app = { name: system().name(), image: "any:1", ...on(await freeHostPort(), port) };
    expect(await expectFailure(system(), app, "ErrorNodePortIsNotCorrectRange")).toMatchObject({
      message: "Port is not in the correct range. The range of valid ports is 30000-32767.",
      details: { host_port: port },
    });
  });

  test("repeated in one request is refused", async () => {
    const port = await freeHostPort();
    const app = { name: system().name(), image: "any:1", ...on(port, port) };
    await expectTaken(app, { host_port: port, holder: { kind: "request" } });
  });

  test.each([
    ["IPv4", { host: "0.0.0.0" }],
    ["IPv4 loopback", { host: "127.0.0.1" }],
    ["IPv6 only", { host: "::", ipv6Only: true }],
  ])("used by a process that listens on %s is refused", async (_what, address) => {
    const port = await freeHostPort();
    await listen({ ...address, port });
    const image = await system().load(await webImage());
    const holder = { kind: "process", pid: process.pid };
    await expectTaken({ name: system().name(), image, ...on(port) }, { host_port: port, holder });
  });

  test("used by a container is refused", async () => {
    const [port, name] = [await freeHostPort(), system().name("foreign")];
    const image = await system().load(await webImage());
    await foreignContainer(name, image, port);
    const holder = { kind: "container", name };
    await expectTaken({ name: system().name(), image, ...on(port) }, { host_port: port, holder });
    expect(await page(port)).toContain("edge-agent test app");
  });

  test("used by an app is refused", async () => {
    const [port, name] = [await freeHostPort(), system().name()];
    const image = await system().load(await webImage());
    expect((await system().deploy({ name, image, ...on(port) })).final.status).toBe("Success");
    const holder = { kind: "app", name };
    await expectTaken({ name: system().name(), image, ...on(port) }, { host_port: port, holder });
    expect(await page(port)).toContain("edge-agent test app");
  });

  test("claimed by a pending deployment is refused", async () => {
    const [port, name] = [await freeHostPort(), system().name()];
    const deploymentId = await slowDeployment({ name, ...on(port) });
    const image = await system().load(await webImage());
    const holder = { kind: "deployment", name, deployment_id: deploymentId };
    await expectTaken({ name: system().name(), image, ...on(port) }, { host_port: port, holder });
  });
});

describe("a name", () => {
  test("of an existing app is refused, and the app is unchanged", async () => {
    const [port, name] = [await freeHostPort(), system().name()];
    const image = await system().load(await webImage());
    const first = await system().deploy({ name, image, ...on(port) });
    const before = await system().inspect(first.deploymentId);
    const { message } = await expectFailure(system(), { name, image }, "AppExists");
    expect(message).toContain(name);
    expect(await system().inspect(first.deploymentId)).toMatchObject({ Id: before.Id, State: before.State });
    expect(await page(port)).toContain("edge-agent test app");
  });

  test("of a foreign container is refused, and the container is unchanged", async () => {
    const name = system().name();
    const image = await system().load(await sleeperImage());
    await foreignContainer(name, image);
    const { message } = await expectFailure(system(), { name, image }, "ErrorNameExists");
    expect(message).toContain(name);
    const { body } = await engineRequest(system().engineSocket, "GET", `/containers/${name}/json`);
    expect(JSON.parse(body)).toMatchObject({ State: { Running: true } });
  });

  test("of a pending deployment is refused", async () => {
    const name = system().name();
    const deploymentId = await slowDeployment({ name });
    const event = await expectFailure(system(), { name, image: "any:1" }, "ErrorDeploymentAlreadyExist");
    expect(event).toMatchObject({
      message: expect.stringContaining(name) as string,
      details: { deployment_id: deploymentId },
    });
  });
});

describe("concurrent deployments", () => {
  test("of different apps run in parallel", async () => {
    const image = await system().load(await webImage());
    const ports = [await freeHostPort(), await freeHostPort(), await freeHostPort()];
    const apps = ports.map((port) => ({ name: system().name(), image, ports: on(port).ports }));
    const ended = await Promise.all(apps.map((app) => system().deploy(app)));
    expect(ended.map(outcome)).toEqual(["Success", "Success", "Success"]);
    for (const port of ports) expect(await page(port)).toContain("edge-agent test app");
  });

  test.each([1, 2, 3, 4])("with the same port: exactly one succeeds (%i)", async () => {
    const image = await system().load(await webImage());
    const port = await freeHostPort();
    const { ports } = on(port);
    const apps = [1, 2, 3].map(() => ({ name: system().name(), image, ports }));
    const ended = await Promise.all(apps.map((app) => system().deploy(app)));
    expect(ended.map(outcome).toSorted()).toEqual(["ErrorPortInUse", "ErrorPortInUse", "Success"]);
    expect(await page(port)).toContain("edge-agent test app");
    await expectLosersGone(ended);
  });

  test.each([1, 2, 3, 4])("with the same name: exactly one succeeds (%i)", async () => {
    const image = await system().load(await webImage());
    const name = system().name();
    const ports = [await freeHostPort(), await freeHostPort()];
    const ended = await Promise.all(ports.map((port) => system().deploy({ name, image, ports: on(port).ports })));
    const won = ended.findIndex(({ final }) => final.status === "Success");
    expect(ended.map(outcome).toSorted()).toEqual(["ErrorDeploymentAlreadyExist", "Success"]);
    expect(await page(ports[won] ?? 0)).toContain("edge-agent test app");
    await expect(fetch(`http://127.0.0.1:${ports[1 - won]}/`)).rejects.toThrow("fetch failed");
    await expectLosersGone(ended);
  });
});
