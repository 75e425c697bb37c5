import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { documented, fill, runPrinted } from "../../support/documentation.ts";
import { FakeDevice } from "../../support/fake-device.ts";

/* The job of CI of docs/api.md, as it is printed. */

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

function runJob(asset: string, job = "job-1"): Promise<string> {
  const variables = { API: control.url, KEY: account.apiKey, ASSET: asset, CI_JOB_ID: job, IMAGE: "web:2" };
  const before = Object.entries(variables).map(([name, value]) => `${name}='${value}'`);
  return runPrinted(fill(documented("docs/api.md", "Jobs of CI"), { "sleep 5": "sleep 0.1" }), before.join("\n"));
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
