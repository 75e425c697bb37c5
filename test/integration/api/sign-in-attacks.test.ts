import { expect, onTestFinished, test } from "vitest";
import { createCode } from "../../../src/control-plane/accounts/one-time-link.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { Browser } from "../../support/browser.ts";
import { startControlPlane } from "../../support/control-plane.ts";

const PASSWORD = "a long way to the pump house";

async function setUp(config: Parameters<typeof startControlPlane>[0] = {}) {
  const control = await startControlPlane(config);
  onTestFinished(() => control[Symbol.asyncDispose]());
  const { code, hash, secret } = createCode(systemClock, "setup", {});
  await control.store.users.issueCode(code, hash, undefined);
  const admin = new Browser(control);
  const body = { code: secret, account_name: "Water works", email: "ada@example.com", password: PASSWORD };
  expect(await admin.call("POST", "/v1/setup", body)).toMatchObject({ status: 201 });
  return { control, admin };
}

test("the response to a wrong password does not wait for the audit log, which knows only addresses of people", async () => {
  const { control } = await setUp();
  const { audit } = control.store;
  const addEntry = audit.addEntry.bind(audit);
  const stored = Promise.withResolvers<void>();
  audit.addEntry = async (entry) => {
    await stored.promise;
    return addEntry(entry);
  };
  const stranger = new Browser(control);
  for (const email of ["nobody@example.com", "ada@example.com", "nobody.else@example.com"]) {
    const signIn = { email, password: "not the password at all" };
    expect(await stranger.call("POST", "/v1/session", signIn)).toMatchObject({ status: 401 });
  }
  stored.resolve();
});

test("a made-up cookie of a browser gives no requests beyond those of the address; a browser known to the service has its own", async () => {
  const { control, admin } = await setUp({ config: { rate_limit_per_minute: 30 } });
  const signIn = { email: "ada@example.com", password: PASSWORD };
  expect(await admin.call("POST", "/v1/session", signIn)).toMatchObject({ status: 200 });
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 60; attempt++) {
    const stranger = new Browser(control, `edge_browser=eb_${String(attempt).padStart(43, "A")}`);
    statuses.push((await stranger.call("GET", "/v1/sign-in")).status);
  }
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(30);
  expect(await new Browser(control).call("GET", "/v1/sign-in")).toMatchObject({ status: 429 });
  expect(await admin.call("GET", "/v1/sign-in")).toMatchObject({ status: 200 });
});
