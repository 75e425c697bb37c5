import { expect, test } from "vitest";
import { type UsageSample, usageBetween } from "../../../../../src/agent/core/app/usage-between.ts";

const SAMPLE: UsageSample = {
  atMs: 1_000,
  run: "abc 2026-11-22T08:00:00Z",
  cpuNs: 5_000_000_000,
  memoryBytes: 10_000,
  memoryLimitBytes: 50_000,
  receivedBytes: 100,
  sentBytes: 200,
  readBytes: 300,
  writtenBytes: 400,
  processes: 3,
};

test("rates are those of the time between two samples, of all processors", () => {
  const now = {
    ...SAMPLE,
    atMs: 3_000,
    cpuNs: 8_000_000_000,
    receivedBytes: 1_100,
    sentBytes: 201,
    writtenBytes: 4_400,
  };
  expect(usageBetween(SAMPLE, now)).toEqual({
    cpu_percent: 150,
    memory_bytes: 10_000,
    memory_limit_bytes: 50_000,
    network: { received_bytes: 1_100, sent_bytes: 201, received_bytes_per_s: 500, sent_bytes_per_s: 1 },
    disk: { read_bytes: 300, written_bytes: 4_400, read_bytes_per_s: 0, written_bytes_per_s: 2_000 },
    processes: 3,
  });
});

test.each([
  ["in the first sample", undefined],
  ["after a restart in between", { ...SAMPLE, run: "abc 2026-11-22T08:00:01Z" }],
  ["if no time has passed", { ...SAMPLE, atMs: 2_000 }],
])("there are no rates %s, and the sums stay", (_name, before) => {
  expect(usageBetween(before, { ...SAMPLE, atMs: 2_000 })).toMatchObject({
    cpu_percent: null,
    memory_bytes: 10_000,
    network: { received_bytes: 100, received_bytes_per_s: null, sent_bytes_per_s: null },
    disk: { read_bytes: 300, read_bytes_per_s: null },
  });
});

test("a counter that went back gives no negative rate", () => {
  expect(usageBetween(SAMPLE, { ...SAMPLE, atMs: 2_000, cpuNs: 1, sentBytes: 1 })).toMatchObject({
    cpu_percent: 0,
    network: { sent_bytes_per_s: 0 },
  });
});

test("what the engine does not count is unknown", () => {
  const unknown = { cpu_percent: null, memory_bytes: null, memory_limit_bytes: null, network: null, disk: null };
  expect(usageBetween(SAMPLE, undefined)).toEqual({ ...unknown, processes: null });
  const uncounted = { receivedBytes: undefined, sentBytes: undefined, readBytes: undefined, writtenBytes: undefined };
  const now = { ...SAMPLE, ...uncounted, processes: undefined, memoryLimitBytes: 2 ** 63 };
  const expected = { network: null, disk: null, processes: null, memory_limit_bytes: null };
  expect(usageBetween(undefined, now)).toMatchObject(expected);
});
