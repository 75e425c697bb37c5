import { beforeEach, expect, onTestFinished, test } from "vitest";
import { AesSealer } from "../../../src/control-plane/sealing/aes-sealer.ts";
import { credentialsPurpose } from "../../../src/control-plane/sealing/sealer.ts";
import { AccountOperators } from "../../../src/control-plane/sim-operator/account-operators.ts";
import { openOperator, openOperators } from "../../../src/control-plane/sim-operator/open-operators.ts";
import { toOperatorSim } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { ACCOUNT, openWithAccounts, someAsset, TWO_ACCOUNTS } from "../../contract/control-plane-store/harness.ts";
import { someSealingKey } from "../../support/control-plane/sealing-key.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";

const STRANGER = TWO_ACCOUNTS[1];
const SID = `HS${"0b".repeat(16)}`;
const ICCID = "8988307000001234567";
const key = someSealingKey();
const { signal } = new AbortController();

let store: Store;
let own: SuperSimSimulator;
let service: SuperSimSimulator;

const accessOf = ({ url, accountSid, authToken }: SuperSimSimulator) => ({
  url,
  credentials: { accountSid, authToken },
});

beforeEach(async () => {
  store = await openWithAccounts({ name: "SQLite", open: async () => openStore(":memory:") });
  onTestFinished(() => store[Symbol.asyncDispose]());
  [own, service] = [await SuperSimSimulator.start(systemClock), await SuperSimSimulator.start(systemClock)];
  for (const simulator of [own, service]) {
    onTestFinished(() => simulator[Symbol.asyncDispose]());
    simulator.addFleet("default_1gb");
  }
  own.addSim({ sid: SID, iccid: ICCID });
});

function openAll(sealingKey = key) {
  return new AccountOperators({
    store: store.simCredentials,
    sealer: new AesSealer(sealingKey),
    others: openOperators({ supersim: accessOf(service) }, new StoredSimOperator(store.usage), systemClock),
    open: (access, type) => openOperator(access, type, systemClock),
  });
}

async function setOwn(sealingKey = key, simulator = own): Promise<void> {
  const plaintext = Buffer.from(JSON.stringify(accessOf(simulator)));
  const sealed = new AesSealer(sealingKey).seal(plaintext, credentialsPurpose(ACCOUNT, "supersim"));
  await store.simCredentials.setCredentials({ accountId: ACCOUNT, type: "supersim", changedAtMs: 1, ...sealed });
}

const supersim = { sid: SID, iccid: ICCID, networkGroup: "default_1gb", status: "active" } as const;
const sim = toOperatorSim(someAsset({ supersim }), "supersim")!;

async function isSeenBy(operators: AccountOperators, accountId: string): Promise<boolean> {
  const operator = await operators.find(accountId, "supersim");
  return (await operator.findSim(sim, signal)) !== undefined;
}

test("an account's own credentials count for it alone; the others use the service's", async () => {
  const operators = openAll();
  expect(await isSeenBy(operators, ACCOUNT)).toBe(false);
  await setOwn();
  expect(await isSeenBy(operators, ACCOUNT)).toBe(true);
  expect(await isSeenBy(operators, STRANGER)).toBe(false);
  await store.simCredentials.removeCredentials(ACCOUNT, "supersim");
  expect(await isSeenBy(operators, ACCOUNT)).toBe(false);
});

test("the same credentials are the same operator, also when they were sealed again", async () => {
  const operators = openAll();
  await setOwn();
  const operator = await operators.find(ACCOUNT, "supersim");
  expect(await operators.find(ACCOUNT, "supersim")).toBe(operator);
  await setOwn();
  expect(await operators.find(ACCOUNT, "supersim")).toBe(operator);
  await setOwn(key, service);
  expect(await operators.find(ACCOUNT, "supersim")).not.toBe(operator);
});

test("credentials that cannot be opened are never replaced by the service's", async () => {
  await setOwn();
  const operator = await openAll(someSealingKey()).find(ACCOUNT, "supersim");
  await expect(operator.findSim(sim, signal)).rejects.toMatchObject({ failure: "credentials", retryable: false });
  expect(service.count()).toBe(0);
});

test("a type is served if the service or some account has credentials for it", async () => {
  const sealer = new AesSealer(key);
  const sealed = sealer.seal(Buffer.from("{}"), credentialsPurpose(ACCOUNT, "prosim"));
  const operators = openAll();
  expect(await operators.listServed()).toEqual(["supersim"]);
  await store.simCredentials.setCredentials({ accountId: ACCOUNT, type: "prosim", changedAtMs: 1, ...sealed });
  expect(await operators.listServed()).toEqual(["supersim", "prosim"]);
});
