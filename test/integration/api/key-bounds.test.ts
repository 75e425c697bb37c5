import { expect, onTestFinished, test } from "vitest";
import { hashSecret } from "../../../src/control-plane/accounts/secrets.ts";
import { apiClient } from "../../support/api-client.ts";
import { startControlPlane } from "../../support/control-plane.ts";

test("expired keys do not use up the account's, and are forgotten as revoked ones are", async () => {
  const control = await startControlPlane();
  onTestFinished(() => control[Symbol.asyncDispose]());
  const account = await control.account();
  const { accountId } = account;
  const [admin] = await control.store.keys.listKeys(accountId);
  for (let number = 0; number < 1_000; number++) {
    const key = { ...admin!, id: `key_${number}`, role: "viewer", expiresAt: 1_000 + number } as const;
    await control.store.keys.createKey(key, hashSecret(`secret ${number}`));
  }
  const create = async () => (await apiClient(control, account).post("/v1/api-keys", { name: "new" })).status;
  expect(await create()).toBe(201);
  expect(await control.store.keys.findKey("key_0")).toBeDefined();
  const last = { ...admin!, id: "key_last", expiresAt: 3_000 };
  await control.store.keys.createKey(last, hashSecret("last"));
  expect(await create()).toBe(201);
  expect(await control.store.keys.findKey("key_0")).toBeUndefined();
  expect(await control.store.keys.findKey("key_1")).toBeDefined();
});

test("the bound holds for keys that are created at once", async () => {
  const control = await startControlPlane();
  onTestFinished(() => control[Symbol.asyncDispose]());
  const account = await control.account();
  const [admin] = await control.store.keys.listKeys(account.accountId);
  for (let number = 1; number < 998; number++)
    await control.store.keys.createKey({ ...admin!, id: `key_${number}` }, hashSecret(`secret ${number}`));
  const client = apiClient(control, account);
  const responses = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((number) => client.post("/v1/api-keys", { name: `key ${number}` })),
  );
  expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 429, 429, 429, 429]);
  expect(responses.find(({ status }) => status === 429)?.body).toMatchObject({
    code: "QuotaExceeded",
    details: { quota: "api_keys", used: 1_000, limit: 1_000 },
  });
});
