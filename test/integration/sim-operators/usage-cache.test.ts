import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { EmnifySimulator, type SimulatedEmnifySim } from "../../support/sim-operators/emnify-simulator.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
const SID = `HS${"0c".repeat(16)}`;
const ICCID = "8988307000001234567";
const PRO_ICCID = "8988303000001234567";
const IMSI = "295050912345678";

let clock: FakeClock;
let kore: SuperSimSimulator;
let emnify: EmnifySimulator;
let proSim: SimulatedEmnifySim;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;

beforeEach(async () => {
  clock = new FakeClock();
  // In the middle of a day.
  await clock.advance(13.5 * HOUR * 1000);
  kore = await SuperSimSimulator.start();
  onTestFinished(() => kore[Symbol.asyncDispose]());
  emnify = await EmnifySimulator.start(clock);
  onTestFinished(() => emnify[Symbol.asyncDispose]());
  const { url, accountSid, authToken } = kore;
  const superSimOperator = new SuperSimOperator({ url, credentials: { accountSid, authToken }, clock });
  const { applicationToken } = emnify;
  const proSimOperator = new EmnifyOperator({ url: emnify.url, applicationToken, clock });
  kore.addFleet("default_1gb");
  kore.addSim({ sid: SID, iccid: ICCID });
  proSim = emnify.addSim({ iccid: PRO_ICCID, imsi: IMSI });
  control = await startControlPlane({
    clock,
    // The states of SIMs are not what these tests are about.
    simOperators: {
      listServed: async () => [],
      find: async (_id, type) => (type === "supersim" ? superSimOperator : proSimOperator),
    },
  });
  onTestFinished(() => control[Symbol.asyncDispose]());
  account = await control.account();
  asset = await control.asset(account, {
    supersim: { sid: SID, iccid: ICCID, networkGroup: "default_1gb", status: "active" },
    prosim: { imsi: IMSI, iccid: PRO_ICCID, serviceProfile: "iot-eu-standard", status: "active" },
  });
});

const now = (): number => Math.floor(clock.now() / 1000);
const today = (): number => now() - (now() % DAY);
const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

interface UsageBody {
  readonly usages: readonly { readonly total: number; readonly start_time?: number }[];
  readonly as_of: number;
  readonly code?: string;
}

async function usages(type: "supersim" | "prosim", query: Record<string, string | number>) {
  const text = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)])).toString();
  const url = `${control.url}/v1/assets/${asset.uuid}/sims/${type}/usages?${text}`;
  const response = await fetch(url, { headers: { "X-API-Key": account.apiKey } });
  return { status: response.status, body: (await response.json()) as UsageBody };
}

const totalOf = ({ body }: { readonly body: UsageBody }): number =>
  body.usages.reduce((sum, { total }) => sum + total, 0);

const year = () => ({ start_time: today() - 365 * DAY, end_time: now() });

describe("a year of a Super SIM", () => {
  test("asked for twice: no call the second time, by whatever granularity of days; the hours of what is cut are read once", async () => {
    for (let day = 0; day < 365; day++) kore.use(SID, today() - day * DAY, 1_000);
    for (const granularity of ["all", "day", "month"]) {
      const answer = await usages("supersim", { ...year(), granularity });
      expect([answer.status, totalOf(answer)]).toEqual([200, 365_000]);
    }
    expect(kore.count(/UsageRecords/)).toBe(1);
    const cut = { start_time: year().start_time + HOUR, end_time: now(), granularity: "all" };
    expect(totalOf(await usages("supersim", cut))).toBe(365_000);
    expect(totalOf(await usages("supersim", cut))).toBe(365_000);
    expect(kore.count(/UsageRecords/)).toBe(2);
  });

  test("the day after: only the last days are asked for", async () => {
    for (let day = 0; day < 365; day++) kore.use(SID, today() - day * DAY, 1_000);
    await usages("supersim", year());
    await clock.advance(DAY * 1000);
    kore.use(SID, now(), 500);
    // Corrected backwards, within the period of finalization, and before it.
    kore.sims.get(SID)?.usage.delete(today() - DAY);
    kore.sims.get(SID)?.usage.delete(today() - 100 * DAY);
    expect(totalOf(await usages("supersim", { start_time: today() - 365 * DAY, end_time: now() }))).toBe(
      365_000 - 1_000 + 500,
    );
    expect(kore.count(/UsageRecords/)).toBe(2);
    const last = kore.requests.findLast((request) => request.includes("UsageRecords"));
    const start = new URL(`http://x${last?.split(" ")[1]}`).searchParams.get("StartTime");
    expect(Date.parse(start ?? "") / 1000).toBeGreaterThanOrEqual(today() - 4 * DAY);
  });

  test("asked for by many at once: one call", async () => {
    kore.delayMs = 30;
    kore.use(SID, today(), 77);
    const answers = await Promise.all(Array.from({ length: 20 }, () => usages("supersim", year())));
    expect(answers.map(totalOf)).toEqual(Array.from({ length: 20 }, () => 77));
    expect(kore.count(/UsageRecords/)).toBe(1);
  });

  test("survives a restart: nothing is asked for again", async () => {
    kore.use(SID, today() - 10 * DAY, 77);
    await usages("supersim", year());
    await control.restart();
    expect(totalOf(await usages("supersim", year()))).toBe(77);
    expect(kore.count(/UsageRecords/)).toBe(1);
  });
});

describe("an operator that does not answer", () => {
  test("the last answer counts, with its age", async () => {
    kore.use(SID, today() - 10 * DAY, 40);
    const range = { start_time: today() - 30 * DAY, end_time: now() };
    const first = await usages("supersim", range);
    expect(first.body.as_of).toBe(now());
    const asOf = now();
    kore.fail(/./, { kind: "status", status: 401 });
    await clock.advance(3 * HOUR * 1000);
    const later = await usages("supersim", { ...range, end_time: now() });
    expect([later.status, totalOf(later), later.body.as_of]).toEqual([200, 40, asOf]);
    kore.heal();
    // Refused credentials are not tried again for a minute.
    await clock.advance(61_000);
    kore.use(SID, now(), 2);
    const healed = await usages("supersim", { ...range, end_time: now() });
    expect([totalOf(healed), healed.body.as_of]).toEqual([42, now()]);
  });

  test("and has never answered for these days: 502, and no wrong sum", async () => {
    kore.fail(/./, { kind: "status", status: 401 });
    const range = { start_time: today() - 30 * DAY, end_time: now() };
    const { status, body } = await usages("supersim", range);
    expect([status, body.code]).toEqual([502, "SimOperatorFailed"]);
    kore.heal();
    await clock.advance(61_000);
    await usages("supersim", range);
    kore.fail(/./, { kind: "status", status: 401 });
    const earlier = await usages("supersim", { ...range, start_time: today() - 60 * DAY });
    expect([earlier.status, earlier.body.code]).toEqual([502, "SimOperatorFailed"]);
  });
});

describe("a PRO SIM at emnify", () => {
  test("is counted by day: hours are not available, and which are is said", async () => {
    const { status, body } = await usages("prosim", {
      granularity: "hour",
      start_time: today() - DAY,
      end_time: now(),
    });
    expect([status, body.code]).toEqual([422, "GranularityNotAvailable"]);
    expect(body).toMatchObject({ details: { available: ["all", "day", "month"] } });
    expect(emnify.count(/stats/)).toBe(0);
  });

  test("its days are read once when they are final", async () => {
    for (let day = 0; day < 60; day++) proSim.usage.set(dateOf(today() - day * DAY), 0.5);
    const range = { start_time: today() - 59 * DAY, end_time: now(), granularity: "day" };
    const answer = await whileTimePasses(clock, usages("prosim", range));
    expect(answer.body.usages).toHaveLength(60);
    expect(totalOf(answer)).toBe(30_000_000);
    await whileTimePasses(clock, usages("prosim", range));
    expect(emnify.count(/stats/)).toBe(1);
    await clock.advance(16 * 60_000);
    proSim.usage.set(dateOf(now()), 1.25);
    expect(totalOf(await whileTimePasses(clock, usages("prosim", { ...range, end_time: now() })))).toBe(30_750_000);
    expect(emnify.count(/stats/)).toBe(2);
  });
});
