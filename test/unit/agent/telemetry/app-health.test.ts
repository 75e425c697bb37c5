import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AppRecorder } from "../../../../src/agent/telemetry/app-recorder.ts";
import { AppRing, MAX_APP_RING_BYTES } from "../../../../src/agent/telemetry/app-ring.ts";
import { AppSampler } from "../../../../src/agent/telemetry/app-sampler.ts";
import { HealthRecorder } from "../../../../src/agent/telemetry/health-recorder.ts";
import { MAX_RING_BYTES } from "../../../../src/agent/telemetry/health-ring.ts";
import type { AppFigures, AppHealthRow } from "../../../../src/protocol/link/app-health.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { memoryDir } from "../../../support/temp-dir.ts";

/** The start of a quarter of an hour. */
const START = 1_790_000_100;
const MINUTE_MS = 60_000;
const QUARTER = 900;
const MB = 1_048_576;

let directory: Awaited<ReturnType<typeof memoryDir>>;
let path: string;
beforeEach(async () => {
  directory = await memoryDir();
  path = join(directory.path, "apps.ring");
});
afterEach(() => directory[Symbol.asyncDispose]());

const used = (memory: number, restarts = 0): AppFigures => ({ memory_bytes: [memory, memory], restarts });

const row = (index: number): AppHealthRow => ({
  at: START + index * QUARTER,
  apps: new Map([
    ["job", { cpu_percent: [0, 0.1], restarts: index % 3 }],
    ["web", { cpu_percent: [0.1, 0.2], memory_bytes: [65_536, 131_072], restarts: 0 }],
  ]),
});

const long = (index: number): string => `${index}${"x".repeat(62)}`;

describe("the ring", () => {
  test("keeps the rows of 48 hours, over restarts; both rings take at most 256 KiB", () => {
    const ring = new AppRing(path);
    for (let index = 0; index < 200; index++) ring.add(row(index));
    new AppRing(path).add(row(200));
    const rows = new AppRing(path).rows().toSorted((one, other) => one.at - other.at);
    expect(rows).toEqual(Array.from({ length: 192 }, (_, index) => row(index + 9)));
    expect(statSync(path).size).toBeLessThanOrEqual(MAX_APP_RING_BYTES);
    expect(MAX_APP_RING_BYTES + MAX_RING_BYTES).toBeLessThanOrEqual(256 * 1024);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("has the apps with the most memory: sixteen, or as many as fit with their names", () => {
    const ring = new AppRing(path);
    ring.add({
      at: START,
      apps: new Map(Array.from({ length: 30 }, (_, index) => [`a${index}`, used(MB * (index + 1))])),
    });
    ring.add({
      at: START + 1,
      apps: new Map(Array.from({ length: 9 }, (_, index) => [long(index), used(MB * (index + 1))])),
    });
    ring.add({ at: START + 2, apps: new Map() });
    const [many, few] = ring.rows().toSorted((one, other) => one.at - other.at);
    expect(many?.apps.size).toBe(16);
    expect(many?.apps.has("a29")).toBe(true);
    expect(few?.apps.size).toBeGreaterThanOrEqual(4);
    expect(few?.apps.has(long(8))).toBe(true);
    expect(ring.rows()).toHaveLength(2);
  });
});

describe("the recorder", () => {
  test("keeps one row for each quarter of an hour by the time of records, and has that which is under way", async () => {
    const clock = new FakeClock((START + 300) * 1000);
    let use = 0;
    const ring = new AppRing(path);
    const sampler = { sample: () => new Map([["web", used(65_536 * 2 ** (use++ % 2), use === 3 ? 1 : 0)]]) };
    const apps = new AppRecorder({ sampler, ring, clock });
    const machine = { sample: () => ({}) };
    const recorder = new HealthRecorder({
      sampler: machine,
      apps,
      ring: { add: () => undefined, rows: () => [] },
      clock,
      logger: captureLogText().logger,
    });
    const ending = new AbortController();
    const running = recorder.run(ending.signal);
    await clock.advance(10 * MINUTE_MS);
    expect(ring.rows()).toEqual([]);
    expect(apps.rows().map(({ at }) => at)).toEqual([START]);
    await clock.advance(16 * MINUTE_MS);
    ending.abort();
    await running;
    const rows = ring.rows().toSorted((one, other) => one.at - other.at);
    expect(rows.map(({ at }) => at)).toEqual([START, START + QUARTER]);
    expect(rows[0]?.apps.get("web")?.restarts).toBe(1);
    expect(rows[1]?.apps.get("web")?.memory_bytes?.[1]).toBe(131_072);
    const range = { from: START, to: START + QUARTER, points: 5 };
    expect(recorder.between({ ...range, apps: true }).apps).toMatchObject({
      at: [START],
      apps: [{ app: "web", restarts: [1] }],
    });
    expect(recorder.between(range)).not.toHaveProperty("apps");
  });
});

const ID = "f".repeat(64);

describe.each([
  ["version 2, systemd's groups", 2, `system.slice/docker-${ID}.scope`],
  ["version 2, the engine's own groups", 2, `docker/${ID}`],
  ["version 2, Podman", 2, `machine.slice/libpod-${ID}.scope`],
  ["version 2, Podman without root", 2, `user.slice/user-1000.slice/user@1000.service/user.slice/libpod-${ID}.scope`],
  ["version 1, systemd's groups", 1, `system.slice/docker-${ID}.scope`],
  ["version 1, the engine's own groups", 1, `docker/${ID}`],
] as const)("control groups of %s", (_what, version, group) => {
  const write = (cpuMs: number | undefined, bytes: number | undefined): void => {
    const cpu = join(directory.path, version === 1 ? "cpuacct" : "", group);
    const memory = join(directory.path, version === 1 ? "memory" : "", group);
    for (const each of [cpu, memory]) mkdirSync(each, { recursive: true });
    if (version === 2) writeFileSync(join(directory.path, "cgroup.controllers"), "cpu memory\n");
    const used = bytes === undefined ? "" : `${bytes + 4096}\n`;
    if (version === 1) {
      writeFileSync(join(cpu, "cpuacct.usage"), cpuMs === undefined ? "" : `${cpuMs * 1e6}\n`);
      writeFileSync(join(memory, "memory.usage_in_bytes"), used);
      writeFileSync(join(memory, "memory.stat"), "cache 1\ninactive_file 1\ntotal_inactive_file 4096\n");
    } else {
      writeFileSync(join(cpu, "cpu.stat"), cpuMs === undefined ? "" : `usage_usec ${cpuMs * 1e3}\nuser_usec 1\n`);
      writeFileSync(join(memory, "memory.current"), used);
      writeFileSync(join(memory, "memory.stat"), "anon 5\ninactive_file 4096\n");
    }
  };

  test("say what an app uses, without the engine, and how often it was started again", async () => {
    const clock = new FakeClock(START * 1000);
    const apps = [{ name: "web", containerId: ID }];
    const sampler = new AppSampler({ apps: () => apps, clock, root: directory.path });
    const minute = () => clock.advance(MINUTE_MS);
    expect(sampler.sample()).toEqual(new Map());
    write(1_000, 5 * MB);
    expect(sampler.sample().get("web")).toEqual({ memory_bytes: [5 * MB, 5 * MB], restarts: 0 });
    await minute();
    write(7_000, 6 * MB);
    expect(sampler.sample().get("web")).toEqual({
      cpu_percent: [10, 10],
      memory_bytes: [6 * MB, 6 * MB],
      restarts: 0,
    });
    // It ends, and is started again: another group at the same place.
    const [first = ""] = group.split("/");
    const places = (version === 1 ? ["cpuacct", "memory"] : [""]).map((each) => join(directory.path, each, first));
    for (const [index, place] of places.entries()) renameSync(place, join(directory.path, `ended-${index}`));
    await minute();
    expect(sampler.sample()).toEqual(new Map());
    write(10, 2 * MB);
    await minute();
    expect(sampler.sample().get("web")).toEqual({ memory_bytes: [2 * MB, 2 * MB], restarts: 1 });
    await minute();
    write(undefined, 3 * MB);
    expect(sampler.sample().get("web")).toEqual({ memory_bytes: [3 * MB, 3 * MB], restarts: 0 });
    write(undefined, undefined);
    expect(sampler.sample()).toEqual(new Map());
    // The app has another container: that is no restart.
    for (const place of places) rmSync(place, { recursive: true });
    apps[0] = { name: "web", containerId: "e".repeat(64) };
    expect(sampler.sample()).toEqual(new Map());
  });
});
