import { afterAll, beforeAll, expect, test } from "vitest";
import { issueCode } from "../../../src/control-plane/assets/enrolment-codes.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";

let control: ControlPlane;
let account: TestAccount;
beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const json = { "Content-Type": "application/json" };

test("no answer about an account is kept by a cache, nor taken for another type: refusals and tokens neither", async () => {
  const asset = await control.asset(account);
  const { code } = await issueCode({ ...control, clock: systemClock }, asset.uuid, { validS: 3_600, mayReplace: true });
  const key = { "X-API-Key": account.apiKey };
  const requests: [string, RequestInit, number][] = [
    ["/v1/assets", { headers: key }, 200],
    [`/v1/assets/${asset.uuid}`, { headers: key }, 200],
    [`/v1/assets/${asset.uuid}/edge/deployments`, { headers: key }, 200],
    ["/v1/assets/nobody", { headers: key }, 404],
    ["/v1/assets", {}, 401],
    ["/v1/assets", { method: "POST", headers: { ...key, ...json }, body: "{}" }, 422],
    ["/v1/enrolments", { method: "POST", headers: json, body: JSON.stringify({ code, nonce: "n".repeat(32) }) }, 201],
    ["/v1/enrolments", { method: "POST", headers: json, body: "{}" }, 422],
  ];
  for (const [path, init, status] of requests) {
    const response = await fetch(control.url + path, init);
    await response.text();
    expect([
      path,
      response.status,
      response.headers.get("cache-control"),
      response.headers.get("x-content-type-options"),
    ]).toEqual([path, status, "no-store", "nosniff"]);
  }
});
