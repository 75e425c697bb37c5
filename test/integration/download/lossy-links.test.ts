import { statSync } from "node:fs";
import { truncate } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { DownloadError } from "../../../src/agent/download/download-error.ts";
import { Throttle } from "../../../src/agent/download/throttle.ts";
import { FetchLog, LayerRig } from "../../support/download/layer-rig.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { LossyLink } from "../../support/link/lossy-link.ts";
import { smallDisk, smallDiskUnavailableReason } from "../../support/small-disk.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import { fillDisk } from "../../support/fill-disk.ts";
import { waitFor } from "../../support/wait-for.ts";

const MEGABYTES = 8;

let rig: LayerRig;
beforeAll(async () => void (rig = await LayerRig.start(MEGABYTES)));
afterAll(() => rig[Symbol.asyncDispose]());
afterEach(() => rig.clear());

describe("a layer over a link", () => {
  test("that is cut every half megabyte arrives, with hardly a byte received twice", async () => {
    await using link = await LossyLink.to(rig.registry.port, { cutAfter: 500_000, bytesPerSecond: 20_000_000 });
    const log = await rig.fetch(link.host);
    expect(await rig.isThere()).toBe(true);
    expect(log.cuts).toBeGreaterThanOrEqual(15);
    expect(log.received).toBe(rig.blob.size);
    expect(link.received).toBeLessThan(rig.blob.size * 1.02);
  });

  test("that falls silent is reconnected after a while", async () => {
    await using link = await LossyLink.to(rig.registry.port, { stallAfter: 3_000_000 });
    const log = await rig.fetch(link.host, { stallMs: 300 });
    expect(await rig.isThere()).toBe(true);
    expect(log.troubles.map(({ reason }) => reason)).toContain("nothing came for 0 s");
    expect(log.received).toBe(rig.blob.size);
  });

  test("that is slow, with latency, needs no second attempt", async () => {
    await using link = await LossyLink.to(rig.registry.port, { bytesPerSecond: 8_000_000, latencyMs: 5 });
    const log = await rig.fetch(link.host);
    expect(log.troubles).toEqual([]);
    expect(link.received).toBeLessThan(rig.blob.size * 1.01);
  });

  test("that is down for a time is retried until it is back", async () => {
    await using link = await LossyLink.to(rig.registry.port, { cutAfter: 2_000_000, bytesPerSecond: 20_000_000 });
    const log = new FetchLog();
    const fetching = rig.fetch(link.host, { onInterruption: (trouble) => meet(trouble) }, log);
    const meet = (trouble: FetchLog["troubles"][number]): void => {
      log.troubles.push(trouble);
      if (log.troubles.length === 1) link.conditions = { cutAfter: 0 };
      if (log.troubles.length === 6) link.conditions = {};
    };
    await fetching;
    expect(log.troubles.slice(1, 6).map(({ kind }) => kind)).toEqual(Array.from({ length: 5 }, () => "refused"));
    expect(log.received).toBe(rig.blob.size);
  });

  test("that delivers nothing within the patience fails with no_progress; received bytes stay", async () => {
    await using link = await LossyLink.to(rig.registry.port, { stallAfter: 1_000_000 });
    const log = new FetchLog();
    const bounds = { patienceMs: 400, baseMs: 20, maxMs: 50 };
    const onTrouble = (): void => void (link.conditions = { cutAfter: 0 });
    const fetching = rig.fetch(link.host, { bounds, stallMs: 200, onInterruption: onTrouble }, log);
    await expect(fetching).rejects.toThrow(/^no byte came for/);
    await expect(fetching).rejects.toMatchObject({ kind: "no_progress" });
    link.conditions = {};
    await rig.fetch(link.host, {}, log);
    expect(log.received).toBeLessThan(rig.blob.size + 100_000);
  });

  test("respects the rate limit, and a pause for it is no stall", async () => {
    const clock = new FakeClock();
    const rate = 500_000;
    const stallMs = 60;
    let isDone = false;
    const fetching = rig
      .fetch(rig.registry.host, { clock, throttle: new Throttle(clock, () => rate), stallMs })
      .finally(() => (isDone = true));
    await waitFor(
      "the layer",
      async () => {
        // Time passes in a pause only, where there are two timers: its end, and the next look for a stall.
        while (clock.pending > 1) await clock.advance(clock.untilNext ?? 0);
        return isDone;
      },
      { intervalMs: 1 },
    );
    expect((await fetching).troubles).toEqual([]);
    expect(clock.monotonic()).toBeGreaterThan((rig.blob.size / rate) * 1000 * 0.9);
  });
});

describe("a fetch that ends early", () => {
  test("leaves the received bytes for the next one", async () => {
    await using link = await LossyLink.to(rig.registry.port, { stallAfter: 3_000_000 });
    const log = new FetchLog();
    const stopped = new AbortController();
    const onReceived = (bytes: number): void => {
      log.received += bytes;
      if (log.received > 2_500_000) stopped.abort(new Error("power cut"));
    };
    await expect(rig.fetch(link.host, { signal: stopped.signal, onReceived })).rejects.toThrow("power cut");
    link.conditions = {};
    await rig.fetch(link.host, {}, log);
    expect(await rig.isThere()).toBe(true);
    expect(log.received).toBeLessThan(rig.blob.size + 65_536);
  });

  test("releases the part to the next waiter", async () => {
    const stopped = new AbortController();
    const log = new FetchLog();
    await using held = await rig.parts.lease(rig.blob);
    await using link = await LossyLink.to(rig.registry.port, { stallAfter: 3_000_000 });
    const first = rig.fill(held.part, link.host, { signal: stopped.signal }, log);
    const second = rig.fill(held.part, rig.registry.host, {}, log);
    while (held.part.size < 2_000_000) await sleep(5);
    stopped.abort(new Error("cancelled"));
    await expect(first).rejects.toThrow("cancelled");
    await second;
    expect(held.part.isVerified).toBe(true);
    expect(log.received).toBeLessThan(rig.blob.size + 65_536);
  });
});

const missing = await smallDiskUnavailableReason();

test.skipIf(missing !== undefined)(
  "a full disk fails with no_space, and the layer resumes once there is space",
  async () => {
    await using disk = await smallDisk(20);
    const filler = fillDisk(disk.path);
    await truncate(filler, statSync(filler).size - 4_000_000);
    const parts = new PartStore(disk.path);
    await using held = await parts.lease(rig.blob);
    const log = new FetchLog();
    const failed = rig.fill(held.part, rig.registry.host, {}, log);
    await expect(failed).rejects.toBeInstanceOf(DownloadError);
    await expect(failed).rejects.toMatchObject({ kind: "no_space", message: expect.stringContaining(disk.path) });
    const kept = held.part.size;
    expect(kept).toBeGreaterThan(2_000_000);
    await truncate(filler, 0);
    const rest = new FetchLog();
    await rig.fill(held.part, rig.registry.host, {}, rest);
    expect(held.part.isVerified).toBe(true);
    expect(rest.received).toBeLessThanOrEqual(rig.blob.size - kept + 65_536);
  },
);
