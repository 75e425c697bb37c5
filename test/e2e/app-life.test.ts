import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { run } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { crashLoopImage, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const system = sharedSystem();

/** Requests the change and waits for its end. */
async function change(method: string, app: string, action?: string, body?: unknown): Promise<DeploymentEvent> {
  return (await system().finish(await system().change(method, app, action, body))).final;
}

/** Deploys the web app on a free port. */
async function web(): Promise<{ name: string; port: number; image: string }> {
  const [name, port] = [system().name(), await freeHostPort()];
  const image = await system().load(await webImage());
  const environments = [{ key: "GREETING", value: "hello" }];
  const ports = [{ host_port: port, target_port: WEB_PORT }];
  const { final } = await system().deploy({ name, image, environments, ports });
  expect(final.status).toBe("Success");
  return { name, port, image };
}

test("an app is updated, field by field, and its data stays", async () => {
  const { name, port } = await web();
  const data = join(system().directory, name);
  await mkdir(data);
  const volumes = [{ local: data, target: "/data" }];
  expect(await change("PATCH", name, undefined, { volumes })).toMatchObject({ status: "Success" });
  expect(await page(port, "/cgi-bin/write?/data/made")).toContain("ok");
  const image = await system().load(await webImage("2"));
  expect(await change("PATCH", name, undefined, { image })).toMatchObject({ status: "Success" });
  expect(await page(port)).toContain("version 2 hello");
  expect(await page(port, "/cgi-bin/file?/data/made")).toContain("written");
  expect(await change("PATCH", name, undefined, { environments: [] })).toMatchObject({ status: "Success" });
  expect(await page(port)).not.toContain("hello");
  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
  expect(await readFile(join(data, "made"), "utf8")).toBe("written\n");
});

test("an update that crashes ends in Fail, and the previous version runs unchanged", async () => {
  const { name, port } = await web();
  const image = await system().load(await crashLoopImage(3));
  const final = await change("PATCH", name, undefined, { image });
  expect(final).toMatchObject({ status: "Fail", code: "CrashLoopBackOff", details: { rolled_back: true } });
  expect(final.message).toMatch(/previous version/i);
  expect(await page(port)).toContain("version 1 hello");
  // The next update succeeds.
  const second = await system().load(await webImage("2"));
  expect(await change("PATCH", name, undefined, { image: second })).toMatchObject({ status: "Success" });
  expect(await page(port)).toContain("version 2 hello");
});

test("an app is stopped, started and restarted, and a stopped one stays stopped until it is started", async () => {
  const { name, port } = await web();
  expect(await change("POST", name, "stop")).toMatchObject({ status: "Success" });
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
  await system().agent.restart();
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
  expect(await change("POST", name, "start")).toMatchObject({ status: "Success" });
  expect(await page(port)).toContain("hello");
  expect(await change("POST", name, "restart")).toMatchObject({ status: "Success" });
  expect(await page(port)).toContain("hello");
});

test.each([
  ["PATCH", undefined, { host_network: true }],
  ["DELETE", undefined, undefined],
  ["POST", "stop", undefined],
  ["POST", "start", undefined],
  ["POST", "restart", undefined],
])("%s %s of a missing app is AppNotFound", async (method, action, body) => {
  expect(await change(method, "no-such-app", action, body)).toMatchObject({ status: "Fail", code: "AppNotFound" });
});

test("the second of two concurrent updates is refused, and the first succeeds", async () => {
  const { name, port } = await web();
  const image = await system().load(await webImage("2"));
  const first = await system().change("PATCH", name, undefined, { image });
  await first.event("the device's first event", ({ step }) => step !== "received");
  const second = await change("PATCH", name, undefined, { environments: [] });
  expect(second).toMatchObject({ code: "ErrorDeploymentAlreadyExist", details: { deployment_id: first.deploymentId } });
  expect((await system().finish(first)).final.status).toBe("Success");
  expect(await page(port)).toContain("version 2 hello");
});

test("an update that is cancelled during verification is rolled back", async () => {
  const { name, port } = await web();
  const image = await system().load(await webImage("2"));
  // The verification waits for a check that is never run. The previous version has none.
  const healthcheck = { command: ["true"], interval_s: 3600 };
  const stream = await system().change("PATCH", name, undefined, { image, healthcheck });
  await stream.event("verifying", ({ step }) => step === "verifying");
  const headers = { "X-API-Key": system().account.apiKey };
  await fetch(system().deploymentUrl(stream.deploymentId), { method: "DELETE", headers });
  const { final } = await system().finish(stream);
  expect(final).toMatchObject({ code: "DeploymentCancelled" });
  expect(final.message).not.toContain("has not confirmed");
  expect(await page(port)).toContain("version 1 hello");
});

test("a change continues after the service and the agent are both killed during it", async () => {
  const { name, port } = await web();
  const image = await system().load(await webImage("2"));
  await system().agent.restart({ deploy: { settle_window_s: 3 } });
  const stream = await system().change("PATCH", name, undefined, { image });
  await stream.event("verifying", ({ step }) => step === "verifying");
  await system().control.kill();
  await system().agent.kill();
  await system().control.start();
  await system().agent.start();
  const after = await system().finish(await system().follow(stream.deploymentId));
  expect(after.final.status).toBe("Success");
  expect(await page(port)).toContain("version 2 hello");
  expect(await system().record(stream.deploymentId)).toMatchObject({ action: "update", status: "Success" });
  await system().agent.restart({ deploy: { settle_window_s: 0.5 } });
});

test("edgectl apply deploys an app, changes nothing the second time, and takes away what is no longer in the file", async () => {
  const { control, account, asset, directory } = system();
  const app = { name: system().name(), image: await system().load(await sleeperImage()) };
  const environments = [{ key: "TOKEN", value: "planted-secret" }];
  const edgectl = async (args: readonly string[], input = "") => {
    const { apiKey: EDGECTL_API_KEY } = account;
    const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY, XDG_CONFIG_HOME: join(directory, "operator") };
    const { code, stdout, stderr } = await run("dist/edgectl", args, { env, input });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const apply = (file: object, flag = "--yes"): Promise<string> =>
    edgectl(["apply", asset.serialNumber, "-f", "-", flag], JSON.stringify(file));
  const restricted = { ...app, environments, cpu_limit: 0.5, restart_policy: "on-failure" };
  expect(await apply(restricted)).toMatch(/^\S+: new\n[^]*is deployed\.\n$/);
  expect(await apply(restricted)).toBe(`${app.name}: nothing to change\n`);
  const changed = { ...app, environments: [...environments, { key: "LEVEL", value: "info" }] };
  const lines = ["  - cpu_limit           0.5", "  - restart_policy      on-failure", "  + environments.LEVEL"];
  for (const flag of ["--dry-run", "--yes"]) {
    const shown = await apply(changed, flag);
    for (const line of lines) expect(shown).toContain(line);
    expect(shown).not.toContain("planted-secret");
  }
  expect(await apply(changed)).toBe(`${app.name}: nothing to change\n`);
  const shown = await edgectl(["apps", "show", asset.serialNumber, app.name, "--reveal", "--json"]);
  expect((JSON.parse(shown) as { spec: object }).spec).toEqual({
    ...changed,
    host_network: false,
    privileged: false,
    ports: [],
    volumes: [],
  });
});

test("a deployment's record remains after its app is removed", async () => {
  const app = { name: system().name(), image: await system().load(await sleeperImage()) };
  expect((await system().deploy(app)).final.status).toBe("Success");
  expect((await system().deploy(app)).final.code).toBe("AppExists");
  expect(await change("DELETE", app.name)).toMatchObject({ status: "Success" });
  expect((await system().deploy(app)).final.status).toBe("Success");
});
