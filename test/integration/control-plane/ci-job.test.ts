import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { documented, fill, runPrinted } from "../../support/documentation.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

/* The job of CI of docs/api.md, as it is printed. */

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

function runJob(asset: string, job = "job-1", url = control.url): Promise<string> {
  const variables = { API: url, KEY: account.apiKey, ASSET: asset, CI_JOB_ID: job, IMAGE: "web:2" };
  const before = Object.entries(variables).map(([name, value]) => `${name}='${value}'`);
  const pauses = { "sleep 5": "sleep 0.1", 'sleep "$pause"': "sleep 0.1" };
  return runPrinted(fill(documented("docs/api.md", "Jobs of CI"), pauses), before.join("\n"));
}

/** Passes requests on, and cuts the connection in place of the first response to each method. */
async function startCuttingProxy(): Promise<AsyncDisposable & { readonly url: string; readonly cut: Set<string> }> {
  const cut = new Set<string>();
  const server = createServer((request, response) => {
    void (async () => {
      const { method = "", url = "", headers, socket } = request;
      const sent = await text(request);
      const kept = Object.entries(headers).filter(([name]) =>
        /^(?:x-|content-type|accept|prefer|idempotency)/.test(name),
      );
      const answer = await fetch(control.url + url, {
        method,
        headers: kept as [string, string][],
        ...(sent !== "" && { body: sent }),
      });
      const body = await answer.text();
      if (!cut.has(method)) {
        cut.add(method);
        return void socket.resetAndDestroy();
      }
      response.writeHead(answer.status, { "Content-Type": "application/json" }).end(body);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, cut, [Symbol.asyncDispose]: async () => void server.close() };
}

describe("a job of CI", () => {
  test("waits for the end, and changes nothing more when it is repeated", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const job = runJob(uuid);
    const command = await device.next("command");
    expect(command).toMatchObject({ action: "update", app: "node-red", spec: { image: "web:2" } });
    device.event(command.deployment_id, { message: "Working." });
    device.success(command.deployment_id);
    await job;
    await runJob(uuid);
    const path = `${control.url}/v1/assets/${uuid}/edge/deployments`;
    const response = await fetch(path, { headers: { "X-API-Key": account.apiKey } });
    expect(await response.json()).toMatchObject({ deployments: [{ status: "Success" }] });
  });

  test("goes on after a connection that was cut, and changes nothing twice", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    await using proxy = await startCuttingProxy();
    const job = runJob(uuid, "job-cut", proxy.url);
    // It is awaited later.
    job.catch(() => undefined);
    const command = await device.next("command");
    await waitFor("a poll that was cut", () => proxy.cut.has("GET"));
    device.success(command.deployment_id);
    await job;
    expect(proxy.cut).toEqual(new Set(["PATCH", "GET"]));
    const path = `${control.url}/v1/assets/${uuid}/edge/deployments`;
    const response = await fetch(path, { headers: { "X-API-Key": account.apiKey } });
    expect(await response.json()).toMatchObject({ deployments: [{ status: "Success" }] });
  });

  test("fails with the deployment, and says why", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const job = runJob(uuid);
    // It is awaited later.
    job.catch(() => undefined);
    const { deployment_id } = await device.next("command");
    device.event(deployment_id, { status: "Fail", code: "CrashLoopBackOff", message: "It crashes.", step: "done" });
    await expect(job).rejects.toThrow(/ended with 1:[^]*"status":"Fail"[^]*"code":"CrashLoopBackOff"/);
  });

  test("fails at once where the request is refused, and says why", async () => {
    await expect(runJob("no-such-asset")).rejects.toThrow(/ended with 1:[^]*\{"code":"AssetNotFound"/);
  });
});
