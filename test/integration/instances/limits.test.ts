import { expect, test } from "vitest";
import { PasswordHasher } from "../../../src/control-plane/accounts/password-hasher.ts";
import { apiClient } from "../../support/api-client.ts";
import { Browser } from "../../support/browser.ts";
import { createAccount } from "../../support/control-plane.ts";
import { QUICK_HASH, someAudit, someUser } from "../../support/control-plane/people.ts";
import { TestInstances } from "../../support/control-plane/test-instances.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("requests of one key count at all instances together", async () => {
  const clock = new FakeClock();
  await using instances = await TestInstances.open({ clock, config: { rate_limit_per_minute: 40 } });
  const [a, b] = [await instances.start(), await instances.start()];
  const account = await createAccount(instances.store, clock);
  const statuses: number[] = [];
  for (let request = 0; request < 30; request++) {
    for (const instance of [a, b]) statuses.push((await apiClient(instance, account).get("/v1/assets")).status);
    await clock.advance(250);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  const accepted = statuses.filter((status) => status === 200).length;
  expect(accepted).toBeGreaterThanOrEqual(40);
  expect(accepted).toBeLessThanOrEqual(44);
  expect(statuses.slice(-10).every((status) => status === 429)).toBe(true);
});

test("attempts to sign in that failed at one instance are known to the others", async () => {
  const clock = new FakeClock();
  await using instances = await TestInstances.open({ clock });
  const [a, b] = [await instances.start(), await instances.start()];
  const { accountId } = await createAccount(instances.store, clock);
  const password = "a long way to the pump house";
  const passwordHash = await new PasswordHasher({ algorithm: QUICK_HASH }).hash(password, {
    source: "",
    goesFirst: false,
  });
  const user = someUser({ accountId, passwordHash });
  await instances.store.users.createUser(user, undefined, someAudit("user.created", accountId));
  const signIn = async (url: string, typed: string): Promise<number> =>
    (await new Browser({ url }).call("POST", "/v1/session", { email: user.email, password: typed })).status;
  const settle = async (): Promise<void> => {
    await clock.advance(250);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  };
  for (let attempt = 0; attempt < 5; attempt++) {
    expect(await signIn(a.url, `guess ${attempt} of the password`)).toBe(401);
    await settle();
  }
  // Each instance lets one attempt through before it adds up what there was.
  expect(await signIn(b.url, "guess 5 of the password")).toBe(401);
  await settle();
  expect(await signIn(b.url, password)).toBe(429);
  await clock.advance(1_000);
  expect(await signIn(b.url, password)).toBe(200);
});
