import { beforeEach, expect, onTestFinished, test } from "vitest";
import { AesSealer } from "../../../src/control-plane/sealing/aes-sealer.ts";
import { credentialsPurpose } from "../../../src/control-plane/sealing/sealer.ts";
import { AccountOperators } from "../../../src/control-plane/sim-operator/account-operators.ts";
import { openOperators } from "../../../src/control-plane/sim-operator/sim-operators.ts";
import { OperatorPool } from "../../../src/control-plane/sim-operator/operator-pool.ts";
import { sealAccess } from "../../../src/control-plane/sim-operator/sealed-access.ts";
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
  const pool = new OperatorPool(systemClock);
  return new AccountOperators({
    store: store.simCredentials,
    sealer: new AesSealer(sealingKey),
    others: openOperators({ supersim: accessOf(service) }, new StoredSimOperator(store.usage), pool),
    pool,
  });
}

async function setOwn(sealingKey = key, simulator = own, accountId: string = ACCOUNT): Promise<void> {
  const seal = await new AesSealer(sealingKey).sealing();
  const sealed = sealAccess(seal, accountId, "supersim", { supersim: accessOf(simulator) });
  await store.simCredentials.setCredentials({ accountId, type: "supersim", changedAtMs: 1, ...sealed });
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
  await store.simCredentials.removeCredentials(ACCOUNT, "supersim", 1);
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

test("equal credentials of several accounts and of the service are one operator: its limits hold for all of them", async () => {
  const operators = openAll();
  await setOwn(key, service);
  await setOwn(key, service, STRANGER);
  const sids = Array.from({ length: 60 }, (_, index) => `HS${(index + 1).toString(16).padStart(32, "0")}`);
  for (const sid of sids) service.addSim({ sid, iccid: `89883070000012${sid.slice(-5)}` });
  service.delayMs = 5;
  const asked = sids.map(async (sid, index) => {
    const operator = await operators.find([ACCOUNT, STRANGER, "acc_other"][index % 3]!, "supersim");
    return operator.findSim({ ...sim, operatorId: sid }, signal);
  });
  expect((await Promise.all(asked)).filter((found) => found?.status === "active")).toHaveLength(60);
  expect(service.maxParallel).toBe(4);
  await setOwn(key, own, STRANGER);
  expect(await operators.find(STRANGER, "supersim")).not.toBe(await operators.find(ACCOUNT, "supersim"));
});

test("another instance uses what was set or removed meanwhile with its next question", async () => {
  const instances = [openAll(), openAll()];
  const seen = () => Promise.all(instances.map((each) => isSeenBy(each, ACCOUNT)));
  expect(await seen()).toEqual([false, false]);
  await setOwn();
  expect(await seen()).toEqual([true, true]);
  await store.simCredentials.removeCredentials(ACCOUNT, "supersim", 1);
  const before = own.count();
  expect(await seen()).toEqual([false, false]);
  expect(own.count()).toBe(before);
});

test("credentials that cannot be opened are never replaced by the service's, and count as soon as they can be", async () => {
  await setOwn();
  let sealer = new AesSealer(someSealingKey());
  const pool = new OperatorPool(systemClock);
  const operators = new AccountOperators({
    store: store.simCredentials,
    sealer: { open: (sealed, purpose) => sealer.open(sealed, purpose) },
    others: openOperators({ supersim: accessOf(service) }, new StoredSimOperator(store.usage), pool),
    pool,
  });
  const operator = await operators.find(ACCOUNT, "supersim");
  await expect(operator.findSim(sim, signal)).rejects.toMatchObject({ failure: "credentials", retryable: false });
  // The same one, so that what waits for it has one pause.
  expect(await operators.find(ACCOUNT, "supersim")).toBe(operator);
  sealer = new AesSealer(key);
  expect(await isSeenBy(operators, ACCOUNT)).toBe(true);
  expect(service.count()).toBe(0);
});

test("credentials of a form that this version does not know are not used", async () => {
  const sealed = new AesSealer(key).seal(Buffer.from('{"url":7}'), credentialsPurpose(ACCOUNT, "supersim"));
  await store.simCredentials.setCredentials({ accountId: ACCOUNT, type: "supersim", changedAtMs: 1, ...sealed });
  const operator = await openAll().find(ACCOUNT, "supersim");
  await expect(operator.findSim(sim, signal)).rejects.toThrow("a form that this version does not know");
  expect(operator.usagePeriod).toBe("hour");
});

test("a type is served if the service or some account has credentials for it", async () => {
  const sealer = new AesSealer(key);
  const sealed = sealer.seal(Buffer.from("{}"), credentialsPurpose(ACCOUNT, "prosim"));
  const operators = openAll();
  expect(await operators.listServed()).toEqual(["supersim"]);
  await store.simCredentials.setCredentials({ accountId: ACCOUNT, type: "prosim", changedAtMs: 1, ...sealed });
  expect(await operators.listServed()).toEqual(["supersim", "prosim"]);
});
