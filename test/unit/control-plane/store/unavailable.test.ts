import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StoreOutageLog } from "../../../../src/control-plane/store/outage-log.ts";
import {
  repeatWhileUnavailable,
  storeRetryDelayMs,
  StoreUnavailableError,
} from "../../../../src/control-plane/store/unavailable.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const away = () => new StoreUnavailableError("it restarts");

describe("repeating", () => {
  test("goes on until the store is available, however often it fails, and returns the result once", async () => {
    const clock = new FakeClock();
    let calls = 0;
    const result = repeatWhileUnavailable(
      async () => {
        calls++;
        if (calls < 20) throw away();
        return "done";
      },
      { clock },
    );
    await clock.advance(5_000 * 20);
    expect([await result, calls]).toEqual(["done", 20]);
  });

  test("any other error ends it, and so does the signal or the number of attempts", async () => {
    const clock = new FakeClock();
    const broken = new Error("a bug");
    await expect(repeatWhileUnavailable(() => Promise.reject(broken), { clock })).rejects.toBe(broken);
    const ended = new AbortController();
    const aborted = repeatWhileUnavailable(() => Promise.reject(away()), { clock, signal: ended.signal });
    const refused = expect(aborted).rejects.toThrow("the database cannot be reached: it restarts");
    ended.abort();
    await refused;
    let calls = 0;
    const bounded = repeatWhileUnavailable(() => Promise.reject(new StoreUnavailableError(String(++calls))), {
      clock,
      maxAttempts: 3,
    });
    const last = expect(bounded).rejects.toThrow("the database cannot be reached: 3");
    await clock.advance(20_000);
    await last;
    expect(clock.pending).toBe(0);
  });

  test("the delay is always 1 to 5 seconds", () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempt, random) => {
        const delay = storeRetryDelayMs(attempt, random);
        expect(delay).toBeGreaterThanOrEqual(1_000);
        expect(delay).toBeLessThan(5_000);
      }),
    );
  });
});

const begin = () => {
  const clock = new FakeClock();
  const captured = captureLogText();
  const lines = () =>
    captured
      .text()
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { msg: string; seconds?: number; failed_calls?: number });
  return { clock, lines, log: new StoreOutageLog(clock, captured.logger) };
};

describe("the log of outages", () => {
  test("has one line at the beginning and one at the end, with the number of calls", async () => {
    const { clock, lines, log } = begin();
    log.succeeded();
    expect(lines()).toEqual([]);
    for (let call = 0; call < 100; call++) {
      log.failed(away());
      await clock.advance(1_000);
    }
    expect(lines().map(({ msg }) => msg)).toEqual([expect.stringContaining("the database cannot be reached")]);
    await clock.advance(4_000);
    log.succeeded();
    log.succeeded();
    expect(lines().slice(1)).toEqual([expect.objectContaining({ seconds: 99, failed_calls: 100 })]);
  });

  test("calls that succeed in between, as with a pool that runs dry, do not end it", async () => {
    const { clock, lines, log } = begin();
    for (let call = 0; call < 50; call++) {
      log.failed(away());
      await clock.advance(100);
      log.succeeded();
    }
    expect(lines()).toHaveLength(1);
    await clock.advance(5_000);
    log.succeeded();
    log.failed(away());
    expect(lines()).toHaveLength(3);
  });
});
