import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { AesSealer } from "../../../src/control-plane/sealing/aes-sealer.ts";
import { AccountOperators } from "../../../src/control-plane/sim-operator/account-operators.ts";
import { openOperators } from "../../../src/control-plane/sim-operator/sim-operators.ts";
import { OperatorPool } from "../../../src/control-plane/sim-operator/operator-pool.ts";
import { sealAccess } from "../../../src/control-plane/sim-operator/sealed-access.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { SimList } from "../../../src/protocol/assets/sim-list.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type CapturedLog, captureLogText } from "../../support/captured-log.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someSealingKey } from "../../support/control-plane/sealing-key.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { waitFor } from "../../support/wait-for.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

const MINUTE = 60_000;
const SID = `HS${"0b".repeat(16)}`;
const ICCID = "8988307000001234567";
const PRO_ICCID = "8988303000001234567";
const PRO_ICCID_WITH_LUHN = "89883030000012345671";
const IMSI = "295050912345678";
const sealer = new AesSealer(someSealingKey());

let clock: FakeClock;
let log: CapturedLog;
/** Of the first account, of the second one, and of the service. */
let own: SuperSimSimulator;
let other: SuperSimSimulator;
let emnify: EmnifySimulator;
let store: Store;
let control: ControlPlane;
let first: TestAccount;
let second: TestAccount;

const accessOf = ({ url, accountSid, authToken }: SuperSimSimulator) => ({
  supersim: { url, credentials: { accountSid, authToken } },
});

async function setOwn({ accountId }: TestAccount, simulator: SuperSimSimulator): Promise<void> {
  const sealed = sealAccess(await sealer.sealing(), accountId, "supersim", accessOf(simulator));
  await store.simCredentials.setCredentials({ accountId, type: "supersim", changedAtMs: clock.now(), ...sealed });
}

beforeEach(async () => {
  clock = new FakeClock();
  log = captureLogText();
  [own, other] = [await SuperSimSimulator.start(clock), await SuperSimSimulator.start(clock)];
  emnify = await EmnifySimulator.start(clock);
  for (const simulator of [own, other, emnify]) onTestFinished(() => simulator[Symbol.asyncDispose]());
  for (const simulator of [own, other]) simulator.addFleet("default_1gb");
  store = openStore(":memory:");
  const pool = new OperatorPool(clock);
  const { url, applicationToken } = emnify;
  const others = openOperators({ prosim: { url, applicationToken } }, new StoredSimOperator(store.usage), pool);
  control = await startControlPlane({
    clock,
    logger: log.logger,
    openStore: async () => store,
    simOperators: new AccountOperators({ store: store.simCredentials, sealer, others, pool }),
  });
  onTestFinished(() => control[Symbol.asyncDispose]());
  [first, second] = [await control.account(), await control.account()];
});

const api = (account: TestAccount): ApiClient => apiClient(control, account);

let count = 0;
/** Registers an asset with these SIMs. Returns the status, or the code of the error. */
async function register(account: TestAccount, sims: { supersim?: object; prosim?: object }): Promise<unknown> {
  const fields = { serial_number: `GW-${++count}`, type: "gateway", ...sims };
  const { status, body } = await whileTimePasses(clock, api(account).post("/v1/assets", fields));
  return status === 201 ? status : body["code"];
}
const superSim = (sid = SID, iccid = ICCID) => ({ supersim: { sid, iccid, network_group: "default_1gb" } });
const proSim = (iccid = PRO_ICCID) => ({ prosim: { imsi: IMSI, iccid, service_profile: "gold" } });

/** The id of the asset of the account's only SIM. */
const assetOf = async (account: TestAccount): Promise<string> => {
  const [sim] = await sims(account);
  if (!sim) throw new Error("the account has no SIM");
  return sim.asset_id;
};

const sims = async (account: TestAccount) => ((await api(account).get("/v1/sims")).body as unknown as SimList).sims;
const actions = async (account: TestAccount): Promise<string[]> => {
  const { entries } = (await api(account).get("/v1/audit")).body as { entries: { action: string }[] };
  return entries.map(({ action }) => action).filter((action) => action.startsWith("sim."));
};

async function passUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await waitFor(what, async () => {
    if (await isSo()) return true;
    await clock.advance(5_000);
    return false;
  });
}

describe("a SIM belongs to the account whose operator knows it", () => {
  beforeEach(async () => {
    await setOwn(first, own);
    own.addSim({ sid: SID, iccid: ICCID });
  });

  test("its own operator is asked, and not that of another account", async () => {
    await setOwn(second, other);
    expect(await register(second, superSim())).toBe("SimUnknownToOperator");
    expect(await register(first, superSim())).toBe(201);
    expect([own.count(/GET \/v1\/Sims/), other.count(/GET \/v1\/Sims/)]).toEqual([1, 1]);
  });

  test("and whoever typed its number before, without an operator, loses it", async () => {
    const typed = await control.asset(second, {
      name: "Typed",
      supersim: { sid: SID, iccid: ICCID, networkGroup: "default_1gb", status: "active" },
    });
    expect(await register(first, superSim())).toBe(201);
    expect(await sims(second)).toEqual([]);
    expect((await sims(first)).map(({ iccid }) => iccid)).toEqual([ICCID]);
    expect((await api(second).get(`/v1/assets/${typed.uuid}`)).status).toBe(200);
    const audit = await api(second).get("/v1/audit?action=sim.released");
    expect(audit.body["entries"]).toMatchObject([
      { actor: { kind: "service" }, asset_id: typed.uuid, details: { sim_type: "supersim", iccid: ICCID } },
    ]);
    expect(JSON.stringify(audit.body)).not.toContain(first.accountId);
  });

  test("moved at the operator, it is lost to the one and registered by the other; nobody else's request moves it", async () => {
    expect(await register(first, superSim())).toBe(201);
    await setOwn(second, other);
    expect(await register(second, superSim())).toBe("SimUnknownToOperator");
    own.use(SID, Math.floor(clock.now() / 1000), 5_000);
    const before = `/v1/assets/${await assetOf(first)}/sims/supersim/usages`;
    const used = await whileTimePasses(clock, api(first).get(before));
    expect(used.body["usages"]).toMatchObject([{ total: 5_000 }]);
    own.sims.delete(SID);
    other.addSim({ sid: SID, iccid: ICCID });
    // The account that had it is asked by its own operator, which may not answer.
    own.fail(/./, { kind: "status", status: 500 });
    expect(await register(second, superSim())).toBe("IdentifierTaken");
    own.heal();
    await clock.advance(MINUTE);
    expect(await register(second, superSim())).toBe(201);
    expect(await sims(first)).toEqual([]);
    expect(await actions(first)).toContain("sim.released");
    expect(await register(first, superSim())).toBe("SimUnknownToOperator");
    // What was used before is not the second account's.
    const usages = `/v1/assets/${await assetOf(second)}/sims/supersim/usages`;
    const { status, body } = await whileTimePasses(clock, api(second).get(usages));
    expect([status, body["usages"]]).toEqual([200, []]);
  });

  test("known to both operators, it stays with the one who registered it first", async () => {
    expect(await register(first, superSim())).toBe(201);
    await setOwn(second, other);
    other.addSim({ sid: SID, iccid: ICCID });
    expect(await register(second, superSim())).toBe("IdentifierTaken");
    await setOwn(second, own);
    const before = own.count();
    expect(await register(second, superSim())).toBe("IdentifierTaken");
    // The same operator has said so already.
    expect(own.count() - before).toBe(1);
    expect(await sims(first)).toHaveLength(1);
  });

  test("and nobody gets it by its number as something else that no operator has confirmed", async () => {
    const theirs = { sid: `HS${"0c".repeat(16)}`, iccid: "8988307000007654321" };
    await control.asset(second, { supersim: { ...theirs, networkGroup: "default_1gb", status: "active" } });
    emnify.addSim({ iccid: theirs.iccid, imsi: IMSI });
    for (const serial_number of [theirs.sid, theirs.iccid]) {
      const { status, body } = await api(first).post("/v1/assets", { serial_number, type: "gateway" });
      expect([status, body["code"]]).toEqual([409, "IdentifierTaken"]);
    }
    expect(await register(first, proSim(theirs.iccid))).toBe("IdentifierTaken");
    expect((await sims(second)).map(({ iccid }) => iccid)).toEqual([theirs.iccid]);
  });

  test("those that were there before the credentials are asked for at once: what is strange is lost, once", async () => {
    const typed = { sid: `HS${"0c".repeat(16)}`, iccid: "8988307000007654321", networkGroup: "default_1gb" };
    await control.asset(second, { supersim: { ...typed, status: "active" } });
    // Nobody is asked for it, until tomorrow.
    for (let minute = 0; minute < 5; minute++) await clock.advance(MINUTE);
    await setOwn(second, other);
    await passUntil("the loss", async () => (await actions(second)).includes("sim.lost"));
    expect(await actions(second)).toEqual(["sim.lost"]);
    expect(other.count(/GET \/v1\/Sims/)).toBe(1);
  });
});

test("a PRO SIM's number with its Luhn digit is the same SIM, and does not belong to whoever types it as well", async () => {
  // Both use the service's credentials, which see it.
  emnify.addSim({ iccid: PRO_ICCID, imsi: IMSI });
  expect(await register(first, proSim())).toBe(201);
  expect(await register(second, proSim(PRO_ICCID_WITH_LUHN))).toBe("IdentifierTaken");
  expect(await register(first, proSim(PRO_ICCID_WITH_LUHN))).toBe("IdentifierTaken");
  expect(await sims(second)).toEqual([]);
  // It is found by both.
  for (const iccid of [PRO_ICCID, PRO_ICCID_WITH_LUHN])
    expect((await api(first).get(`/v1/assets/${iccid}`)).status).toBe(200);
});

describe("credentials that are revoked", () => {
  const OTHER_SID = `HS${"0d".repeat(16)}`;
  beforeEach(async () => {
    await setOwn(first, own);
    await setOwn(second, other);
    own.addSim({ sid: SID, iccid: ICCID });
    other.addSim({ sid: OTHER_SID, iccid: "8988307000007654321" });
    expect(await register(first, superSim())).toBe(201);
    expect(await register(second, superSim(OTHER_SID, "8988307000007654321"))).toBe(201);
    await passUntil("the first readings", async () =>
      [await sims(first), await sims(second)].every(([sim]) => typeof sim?.checked_at === "number"),
    );
  });

  test("are said in the log with the account, are few requests in a day, and concern no other account", async () => {
    own.isRevoked = true;
    const before = own.count();
    const mine = await assetOf(first);
    const theirs = await assetOf(second);
    const usages = (account: TestAccount, uuid: string) =>
      whileTimePasses(clock, api(account).get(`/v1/assets/${uuid}/sims/supersim/usages`));
    for (let hour = 0; hour < 48; hour++) {
      await clock.advance(60 * MINUTE);
      // Somebody looks at it each hour.
      expect((await usages(first, mine)).status).toBe(502);
      expect((await usages(second, theirs)).status).toBe(200);
    }
    // One each hour for the usage, and each quarter of an hour for the state as soon as that is due.
    expect(own.count() - before).toBeLessThanOrEqual(48 * (1 + 4));
    const said = log
      .text()
      .split("\n")
      .filter((line) => line.includes("the SIM operator refuses the credentials"));
    expect(said).toHaveLength(1);
    expect(JSON.parse(said[0] ?? "")).toMatchObject({ level: 50, account_id: first.accountId, sim_type: "supersim" });
    for (const secret of [own.authToken, other.authToken]) expect(log.text()).not.toContain(secret);
    expect(await actions(second)).toEqual([]);
    // The last state stays, and the service is ready.
    expect(await sims(first)).toMatchObject([{ status: "active", lost: false }]);
    expect((await fetch(`${control.url}/readyz`)).status).toBe(200);
    own.isRevoked = false;
    await clock.advance(MINUTE);
    expect((await usages(first, mine)).status).toBe(200);
  });

  test("a hundred changes and registrations fail soon, and with few requests", async () => {
    own.isRevoked = true;
    const before = own.count();
    const began = clock.monotonic();
    const mine = await assetOf(first);
    const changes = Array.from({ length: 100 }, () => api(first).patch(`/v1/assets/${mine}`, { status: "inactive" }));
    const answers = await whileTimePasses(clock, Promise.all(changes));
    expect(new Set(answers.map(({ body }) => body["code"]))).toEqual(new Set(["SimOperatorFailed"]));
    expect(await register(first, superSim(OTHER_SID, "8988307000007654321"))).toBe("SimOperatorFailed");
    expect(own.count() - before).toBeLessThanOrEqual(4);
    expect(clock.monotonic() - began).toBeLessThan(MINUTE);
  });
});
