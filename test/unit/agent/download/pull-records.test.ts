import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PartStore } from "../../../../src/agent/download/part-store.ts";
import { type Offer, PullRecords } from "../../../../src/agent/download/pull-records.ts";
import { PartSweeper } from "../../../../src/agent/download/sweeper.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import type { ResolvedImage } from "../../../../src/agent/registry/registry.ts";
import type { Clock } from "../../../../src/lib/clock.ts";
import { SteadyClock } from "../../../../src/lib/steady-clock.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeEngine } from "../../../support/fake-engine.ts";
import { FakeRegistry } from "../../../support/fake-registry.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const REFERENCE = "registry.example.com/app:1";
const SECRET = "0123456789abcdef".repeat(2);
const KEEP_MS = 7 * 86_400_000;
const SIGNAL = new AbortController().signal;
const NAME = `127.0.0.1:5000/${SECRET}/app`;

let directory: Awaited<ReturnType<typeof tempDir>>;
let clock: FakeClock;
let engine: FakeEngine;
let image: ResolvedImage;
let offer: Offer;
beforeEach(async () => {
  directory = await tempDir();
  clock = new FakeClock(Date.now());
  engine = new FakeEngine(clock);
  engine.publish(REFERENCE);
  const platform = { os: "linux", architecture: "amd64" };
  image = await new FakeRegistry(engine).resolve(REFERENCE, platform, undefined, SIGNAL);
  const { digest } = image;
  offer = { name: `${NAME}@${digest}`, address: { port: 5_000, secret: SECRET }, digest };
});
afterEach(() => directory[Symbol.asyncDispose]());

const files = (): string[] => readdirSync(directory.path);
const records = (): PullRecords => new PullRecords(directory.path);

/** What a killed agent leaves: parts, the record, and the image under the name it was offered as. */
async function leave(): Promise<void> {
  records().begin(image).offer(offer);
  await using _part = await new PartStore(directory.path).lease(image.layers[0] ?? image.config);
  await engine.pullImage(offer.name, () => {}, SIGNAL, { isInsecure: true });
}

function newSweeper(pulls = records(), pending: readonly string[] = [], time: Clock = clock): PartSweeper {
  const bounds = { keepMs: KEEP_MS, reserveBytes: 0, minAgeMs: 0 };
  const parts = new PartStore(directory.path);
  const logger = pino({ level: "silent" });
  const options = { engine, kept: { parts, pulls }, bounds, freeBytes: async () => undefined, clock: time, logger };
  return new PartSweeper({
    ...options,
    pending: () => new Set(pending),
    pendingBlobs: () => new Set(),
    attempt: (work) => work(),
  });
}

const loopbackImage = () => engine.inspectImage(offer.name, SIGNAL);

test("what a pull has left is removed once the image has its name", async () => {
  await leave();
  await newSweeper().finishPulls(SIGNAL);
  // The deployment goes on with the pull.
  expect(files()).toHaveLength(2);
  expect(await loopbackImage()).toBeDefined();
  await engine.tagImage(offer.name, REFERENCE, SIGNAL);
  await newSweeper().finishPulls(SIGNAL);
  expect(files()).toEqual([]);
  expect(await loopbackImage()).toBeUndefined();
  expect(await engine.inspectImage(REFERENCE, SIGNAL)).toBeDefined();
});

test("an older image under the name of the one that was pulled does not count", async () => {
  engine.publish(REFERENCE, { layers: [5] });
  await engine.pullImage(REFERENCE, () => {}, SIGNAL);
  engine.publish(REFERENCE);
  await leave();
  await newSweeper().finishPulls(SIGNAL);
  expect(files()).toHaveLength(2);
  expect(await loopbackImage()).toBeDefined();
});

test("an image that nobody gave its name loses the one it was pulled under, when its parts are too old", async () => {
  await leave();
  await clock.advance(KEEP_MS + 60_000);
  const sweeper = newSweeper();
  await sweeper.finishPulls(SIGNAL);
  expect(await loopbackImage()).toBeUndefined();
  await sweeper.sweep();
  expect(files()).toEqual([]);
});

test("whatever the clock says, nothing that a deployment has fetched is removed while that goes on", async () => {
  await leave();
  clock.jump(10 * 365 * 86_400_000);
  const sweeper = newSweeper(records(), [REFERENCE]);
  await sweeper.finishPulls(SIGNAL);
  await sweeper.sweep();
  expect(files()).toHaveLength(2);
  expect(await loopbackImage()).toBeDefined();
});

test("a start with a clock that is 60 days ahead sweeps nothing for its age before a day has passed", async () => {
  await leave();
  const mark = { keptMs: clock.now(), seenMs: clock.now(), steadyMs: 0 };
  clock.jump(60 * 86_400_000);
  using steady = new SteadyClock({ clock, logger: pino({ level: "silent" }) });
  steady.resume({ mark, save: () => {} });
  const sweep = async (): Promise<void> => {
    const sweeper = newSweeper(records(), [], steady);
    await sweeper.finishPulls(SIGNAL);
    await sweeper.sweep();
  };
  await sweep();
  expect(files()).toHaveLength(2);
  await clock.advance(86_400_000);
  await sweep();
  expect(files()).toEqual([]);
});

test("a pull that goes on has the address and the names of the one before, and ends both", async () => {
  await leave();
  const file = files().find((name) => name.endsWith(".pull"));
  const pulls = records();
  using next = pulls.begin({ ...image, digest: `sha256:${"1".repeat(64)}` });
  expect(next.names).toEqual([offer.name]);
  expect(next.takeAddress()).toEqual(offer.address);
  // A further attempt of the same pull has one of its own.
  expect(next.takeAddress()).toBeUndefined();
  next.offer({ ...offer, name: "127.0.0.1:5001/other" });
  expect(next.names).toEqual([offer.name, "127.0.0.1:5001/other"]);
  expect(files()).toContain(file);
  next.end();
  expect(files().filter((name) => name.endsWith(".pull"))).toEqual([]);
});

test("pulls of one image at the same time have records of their own, which a sweep leaves alone", async () => {
  const pulls = records();
  using first = pulls.begin(image);
  first.offer(offer);
  using second = pulls.begin(image);
  expect([second.names, second.takeAddress()]).toEqual([[], undefined]);
  second.offer({ ...offer, name: "127.0.0.1:5001/other" });
  await engine.pullImage(REFERENCE, () => {}, SIGNAL);
  await newSweeper(pulls).finishPulls(SIGNAL);
  expect(files()).toHaveLength(2);
  second.end();
  expect(files()).toHaveLength(1);
  first[Symbol.dispose]();
  await newSweeper(pulls).finishPulls(SIGNAL);
  expect(files()).toEqual([]);
});

test("a pull that fails again and again leaves a record of a bounded size, with its latest names", () => {
  const names = Array.from({ length: 100 }, (_, index) => `127.0.0.1:${5_000 + index}/name`);
  for (const [index, name] of names.entries()) {
    using pull = records().begin(image);
    pull.offer({ ...offer, name, digest: `sha256:${String(index).padStart(64, "0")}` });
  }
  const [left] = records().left();
  expect(files()).toHaveLength(1);
  expect(left?.record.names).toEqual(names.slice(-16));
  expect(left?.record.ids).toHaveLength(18);
  expect(left?.record.ids.slice(0, 2)).toEqual([image.config.digest, image.digest]);
});

test("a pull that begins while what it has left is removed does not go on with that", async () => {
  const pulls = records();
  pulls.begin(image).offer(offer);
  const later = records();
  const [left] = later.left();
  if (!left) throw new Error("nothing was left");
  await later.finish(left, async () => {
    expect(later.begin(image).names).toEqual([]);
  });
  expect(files()).toEqual([]);
});

test("an engine that cannot be asked is asked again after ten minutes", async () => {
  await leave();
  await engine.tagImage(offer.name, REFERENCE, SIGNAL);
  using _failed = engine.faults.fail("inspectImage", new EngineError("unavailable", "no engine"));
  const ended = new AbortController();
  const swept = newSweeper().run(ended.signal);
  await waitFor("the sweeper to sleep", () => clock.pending > 0);
  expect(files()).toHaveLength(2);
  await clock.advance(10 * 60_000);
  await waitFor("nothing to be left", () => files().length === 0);
  ended.abort();
  await swept;
});

test("a record that is damaged, or cannot be written, is as none", () => {
  writeFileSync(join(directory.path, `${"a".repeat(64)}.00000000.pull`), "{");
  expect(records().left()).toEqual([]);
  expect(files()).toEqual([]);
  const nowhere = new PullRecords("/dev/null/downloads");
  using pull = nowhere.begin(image);
  pull.offer(offer);
  expect(pull.names).toEqual([offer.name]);
  expect(nowhere.left()).toEqual([]);
  pull.end();
});
