import { beforeEach, expect, test } from "vitest";
import type { Asset } from "../../../../src/control-plane/core/asset.ts";
import type { UsageCoverage } from "../../../../src/control-plane/core/sims/usage-coverage.ts";
import type { CountedUsage } from "../../../../src/control-plane/core/sims/usage-periods.ts";
import {
  type OperatorSim,
  type SimOperator,
  SimOperatorError,
} from "../../../../src/control-plane/sim-operator/sim-operator.ts";
import { OperatorUsageReader } from "../../../../src/control-plane/sims/operator-usage.ts";
import type { OperatorUsageStore } from "../../../../src/control-plane/store/operator-usage.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const DAY = 24 * 3600;

let clock: FakeClock;
let reader: OperatorUsageReader;
let calls: number;
/** How the operator behaves. */
let answer: (signal: AbortSignal) => Promise<void>;
beforeEach(() => {
  clock = new FakeClock();
  calls = 0;
  const { signal: stopping } = new AbortController();
  const { logger } = captureLogText();
  reader = new OperatorUsageReader({ store: memoryStore(), clock, logger, stopping, refreshMs: 900_000 });
});

function memoryStore(): OperatorUsageStore {
  let coverage: UsageCoverage | undefined;
  let stored: readonly CountedUsage[] = [];
  return {
    findCoverage: async () => coverage,
    replaceUsage: async (_sim, _ranges, usage, covered) => {
      stored = usage;
      coverage = covered;
    },
    listUsage: async () => stored,
  };
}

const sim: OperatorSim = {
  type: "supersim",
  iccid: "8988307000001234567",
  operatorId: `HS${"0".repeat(32)}`,
  state: { status: "active", networkGroup: "default_1gb" },
};
const operator = {
  usagePeriod: "hour",
  readUsage: async (_sim, { start }, _granularity, signal) => {
    calls++;
    await answer(signal);
    return [{ bucket: "default_1gb", periodStart: start, bytes: 5 }];
  },
} as Pick<SimOperator, "usagePeriod" | "readUsage"> as SimOperator;

function read() {
  const end = Math.floor(clock.now() / 1000);
  const range = { start: end - (end % DAY) - 3 * DAY, end };
  const asset = { uuid: "asset" } as Asset;
  return reader.read({ asset, sim, operator, range, granularity: "all", finalizedUntil: 0 });
}

/** Reads many times at once. Returns what came of it and how long the last one took, in milliseconds. */
async function readMany(): Promise<{ ended: readonly string[]; ms: number }> {
  const beganMs = clock.monotonic();
  let ms = 0;
  const reads = Array.from({ length: 20 }, () =>
    read()
      .then(
        ({ totals }) => `${totals[0]?.bytes} bytes`,
        (error: unknown) => (error instanceof SimOperatorError ? error.failure : String(error)),
      )
      .finally(() => (ms = clock.monotonic() - beganMs)),
  );
  const ended = Promise.all(reads);
  // Nobody waits for longer than this.
  await clock.advance(20 * 10_000);
  return { ended: await ended, ms };
}

const hang = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

test("many who read while the operator hangs wait for it once, and have its last answer", async () => {
  answer = async () => {};
  expect((await read()).totals).toMatchObject([{ bytes: 5 }]);
  await clock.advance(3_600_000);
  calls = 0;
  answer = hang;
  const { ended, ms } = await readMany();
  expect(new Set(ended)).toEqual(new Set(["5 bytes"]));
  expect(ms).toBeLessThanOrEqual(10_000);
  expect(calls).toBe(1);
  // Later it is asked again.
  await clock.advance(60_000);
  answer = async () => {};
  await read();
  expect(calls).toBe(2);
});

test("many who read what was never answered while the operator hangs wait for it once, and are told so", async () => {
  answer = hang;
  const { ended, ms } = await readMany();
  expect(new Set(ended)).toEqual(new Set(["unavailable"]));
  expect(ms).toBeLessThanOrEqual(10_000);
  expect(calls).toBe(1);
});
