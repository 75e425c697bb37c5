import { beforeEach, expect, onTestFinished, test } from "vitest";
import { callOperator } from "../../../src/control-plane/sim-operator/call-operator.ts";
import type { ObservedSim, OperatorSim } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { IdleClock } from "../../support/idle-clock.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";

const { signal } = new AbortController();
const sidOf = (number: number): string => `HS${number.toString(16).padStart(32, "0")}`;

let clock: IdleClock;
let kore: SuperSimSimulator;
let operator: SuperSimOperator;
beforeEach(async () => {
  clock = new IdleClock();
  kore = await SuperSimSimulator.start(clock);
  onTestFinished(() => kore[Symbol.asyncDispose]());
  kore.addFleet("default_1gb");
  for (let number = 0; number < 100; number++) kore.addSim({ sid: sidOf(number), iccid: `89883070000012${number}` });
  const { url, accountSid, authToken } = kore;
  operator = new SuperSimOperator({ url, credentials: { accountSid, authToken }, clock });
});

const simOf = (number: number): OperatorSim => ({
  type: "supersim",
  iccid: `89883070000012${number}`,
  operatorId: sidOf(number),
  state: { status: "active", networkGroup: "default_1gb" },
});

/** As an update or a read of usage calls it. Returns the time it took in milliseconds, and what came of it. */
async function timed(number: number): Promise<{ ms: number; failure?: string; found?: ObservedSim | undefined }> {
  const beganMs = clock.monotonic();
  const result = await callOperator(clock, signal, (limit) => operator.findSim(simOf(number), limit)).then(
    (found) => ({ found }),
    ({ failure }: { failure: string }) => ({ failure }),
  );
  return { ms: clock.monotonic() - beganMs, ...result };
}

test("an operator that does not answer is not waited for by each caller, and found again when it answers", async () => {
  expect((await timed(0)).found).toMatchObject({ status: "active" });
  kore.fail(/./, { kind: "hang" });
  const first = await Promise.all([1, 2, 3, 4].map(timed));
  for (const { failure, ms } of first) {
    expect(failure).toBe("unavailable");
    expect(ms).toBeGreaterThan(9_000);
  }
  const before = kore.count();
  const later = await Promise.all(Array.from({ length: 50 }, (_, index) => timed(index + 10)));
  for (const { failure, ms } of later) {
    expect(failure).toBe("unavailable");
    expect(ms).toBeLessThan(5_000);
  }
  expect(kore.count()).toBe(before);
  kore.heal();
  await clock.sleep(30_000);
  expect((await timed(5)).found).toMatchObject({ status: "active" });
  expect((await timed(6)).found).toMatchObject({ status: "active" });
});

test("an operator that fails at once is asked by each caller: its failures are quick", async () => {
  kore.fail(/Sims/, { kind: "status", status: 500 }, 12);
  for (let number = 0; number < 4; number++) expect((await timed(number)).failure).toBe("unavailable");
  expect((await timed(4)).found).toMatchObject({ status: "active" });
});

test("a hundred updates at once while it does not answer: a few requests", async () => {
  kore.fail(/./, { kind: "hang" });
  const beganMs = clock.monotonic();
  await Promise.all(Array.from({ length: 100 }, (_, index) => timed(index)));
  expect(clock.monotonic() - beganMs).toBeLessThan(15_000);
  expect(kore.count()).toBeLessThanOrEqual(8);
});

test("a server for tokens that does not answer is not waited for by each caller either", async () => {
  const { url, clientId, clientSecret, tokenUrl } = kore;
  operator = new SuperSimOperator({ url, credentials: { clientId, clientSecret, tokenUrl }, clock });
  kore.fail(/token/, { kind: "hang" });
  expect((await timed(0)).failure).toBe("unavailable");
  // The request for the token goes on a little longer than its caller.
  await clock.sleep(1_000);
  const later = await timed(1);
  expect(later.failure).toBe("unavailable");
  expect(later.ms).toBeLessThan(5_000);
  expect(kore.count()).toBe(1);
  kore.heal();
  await clock.sleep(10_000);
  expect((await timed(2)).found).toMatchObject({ status: "active" });
});
