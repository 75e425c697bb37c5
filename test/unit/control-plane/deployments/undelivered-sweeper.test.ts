import { expect, test } from "vitest";
import { InProcessBus } from "../../../../src/control-plane/bus/in-process-bus.ts";
import { UndeliveredSweeper } from "../../../../src/control-plane/deployments/undelivered-sweeper.ts";
import { MAX_UNDELIVERED } from "../../../../src/control-plane/store/deployments.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { waitFor } from "../../../support/wait-for.ts";

async function start(intervalMs: number | undefined) {
  const clock = new FakeClock();
  const waiting: string[] = [];
  const woken: (string | undefined)[] = [];
  const bus = new InProcessBus();
  bus.subscribeWakes("ins_1", (assetUuid) => woken.push(assetUuid));
  let isBroken = false;
  const store = {
    async listUndeliveredAssets(instanceId: string, after = "") {
      if (isBroken) throw new Error("the database is away");
      const following = waiting.filter((assetUuid) => assetUuid > after);
      return instanceId === "ins_1" ? following.slice(0, MAX_UNDELIVERED) : [];
    },
  };
  const logger = await createLogger({ name: "test", level: "fatal" });
  const sweeper = new UndeliveredSweeper({ store, bus, instanceId: "ins_1", clock, logger, intervalMs });
  return {
    clock,
    waiting,
    woken,
    sweeper,
    /** Reports, as a bus does after it was away, that messages may have been lost. */
    reconnectBus: () => bus.publish("wake.ins_1"),
    break: (broken: boolean) => void (isBroken = broken),
  };
}

test("a wake-up that was lost is made up for with the next sweep, also after the store was away", async () => {
  const { clock, waiting, woken, sweeper, break: setBroken } = await start(1_000);
  waiting.push("asset_1");
  await clock.advance(999);
  expect(woken).toEqual([]);
  await clock.advance(1);
  expect(woken).toEqual(["asset_1"]);
  setBroken(true);
  await clock.advance(1_000);
  setBroken(false);
  await clock.advance(1_000);
  expect(woken).toEqual(["asset_1", "asset_1"]);
  sweeper[Symbol.dispose]();
  await clock.advance(5_000);
  expect([woken.length, clock.pending]).toEqual([2, 0]);
});

test("without an interval there is no timer, and a reconnect of the bus is enough", async () => {
  const { clock, waiting, woken, sweeper, reconnectBus } = await start(undefined);
  expect(clock.pending).toBe(0);
  waiting.push("asset_1", "asset_2");
  reconnectBus();
  await clock.advance(0);
  expect(woken).toEqual([undefined, "asset_1", "asset_2"]);
  sweeper[Symbol.dispose]();
  reconnectBus();
  await clock.advance(0);
  expect(woken).toHaveLength(4);
});

/** More than two pages of them. */
const ASSETS = Array.from({ length: 2 * MAX_UNDELIVERED + 1 }, (_, index) => `asset_${String(index).padStart(4, "0")}`);

test("every device is woken, however many wait: for those that a data plan holds back, nothing else does", async () => {
  const { clock, waiting, woken, sweeper } = await start(undefined);
  waiting.push(...ASSETS);
  sweeper.sweepSoon();
  await clock.advance(60_000);
  await waitFor("every device is woken", () => woken.length >= ASSETS.length);
  expect(woken).toEqual(ASSETS);
  sweeper[Symbol.dispose]();
});

test("a sweep by the interval goes on where the one before it ended, so that it costs little and leaves none out", async () => {
  const { clock, waiting, woken, sweeper } = await start(1_000);
  waiting.push(...ASSETS);
  const pages = [
    ASSETS.slice(0, MAX_UNDELIVERED),
    ASSETS.slice(MAX_UNDELIVERED, -1),
    ASSETS.slice(-1),
    ASSETS.slice(0, MAX_UNDELIVERED),
  ];
  for (const page of pages) {
    await clock.advance(1_000);
    expect(woken.splice(0)).toEqual(page);
  }
  sweeper[Symbol.dispose]();
});
