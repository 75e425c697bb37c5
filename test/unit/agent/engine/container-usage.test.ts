import { expect, test } from "vitest";
import { createDockerEngine } from "../../../../src/agent/engine/docker/docker-engine.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { startScriptedEngine } from "../../../support/scripted-engine.ts";

const cpu_stats = { cpu_usage: { total_usage: 5_000_000_000 } };
const UNCOUNTED = { readBytes: undefined, writtenBytes: undefined, processes: undefined };
const networks = { eth0: { rx_bytes: 100, tx_bytes: 10 }, eth1: { rx_bytes: 1, tx_bytes: 2 } };

test.each<[string, unknown, unknown]>([
  [
    "control groups 1, as Docker 20.10 gives them",
    { cpu_stats, networks, memory_stats: { usage: 9_000, limit: 50_000, stats: { total_inactive_file: 4_000 } } },
    { cpuNs: 5e9, memoryBytes: 5_000, memoryLimitBytes: 50_000, receivedBytes: 101, sentBytes: 12, ...UNCOUNTED },
  ],
  [
    "control groups 2, on the host's network",
    { cpu_stats, memory_stats: { usage: 9_000, limit: 50_000, stats: { inactive_file: 1_000 } } },
    {
      cpuNs: 5e9,
      memoryBytes: 8_000,
      memoryLimitBytes: 50_000,
      receivedBytes: undefined,
      sentBytes: undefined,
      ...UNCOUNTED,
    },
  ],
  [
    "disk and processes, of control groups 1",
    {
      cpu_stats,
      networks,
      memory_stats: { usage: 9_000, limit: 50_000 },
      blkio_stats: {
        io_service_bytes_recursive: [
          { major: 8, minor: 0, op: "Read", value: 100 },
          { major: 8, minor: 0, op: "Write", value: 20 },
          { major: 8, minor: 16, op: "Read", value: 1 },
          { major: 8, minor: 16, op: "Write", value: 2 },
          { major: 8, minor: 0, op: "Total", value: 123 },
        ],
      },
      pids_stats: { current: 7 },
    },
    {
      cpuNs: 5e9,
      memoryBytes: 9_000,
      memoryLimitBytes: 50_000,
      receivedBytes: 101,
      sentBytes: 12,
      readBytes: 101,
      writtenBytes: 22,
      processes: 7,
    },
  ],
  [
    "disk of control groups 2, and none counted by others",
    {
      cpu_stats,
      networks,
      memory_stats: { usage: 9_000, limit: 50_000 },
      blkio_stats: {
        io_service_bytes_recursive: [
          { major: 254, minor: 0, op: "read", value: 5 },
          { major: 254, minor: 0, op: "write", value: 6 },
        ],
      },
      pids_stats: {},
    },
    {
      cpuNs: 5e9,
      memoryBytes: 9_000,
      memoryLimitBytes: 50_000,
      receivedBytes: 101,
      sentBytes: 12,
      readBytes: 5,
      writtenBytes: 6,
      processes: undefined,
    },
  ],
  [
    "no disk where the kernel does not count it",
    {
      cpu_stats,
      networks,
      memory_stats: { usage: 9_000, limit: 50_000 },
      blkio_stats: { io_service_bytes_recursive: null },
      pids_stats: { current: 0 },
    },
    {
      cpuNs: 5e9,
      memoryBytes: 9_000,
      memoryLimitBytes: 50_000,
      receivedBytes: 101,
      sentBytes: 12,
      ...UNCOUNTED,
    },
  ],
  ["of a container that does not run", { cpu_stats: { cpu_usage: { total_usage: 0 } }, memory_stats: {} }, undefined],
  ["nothing that makes sense", { cpu_stats: "much" }, undefined],
])("what a container uses: %s", async (_name, stats, expected) => {
  await using server = await startScriptedEngine((request, response) => {
    expect(request.url).toMatch(/\/containers\/abc\/stats\?.*one-shot=true/);
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(stats));
  });
  const engine = createDockerEngine({ socketPath: () => server.socketPath, clock: systemClock });
  expect(await engine.containerUsage("abc", new AbortController().signal)).toEqual(expected);
});

test.each([
  ["nothing, where the engine counts nothing", "no metrics received", undefined],
  ["an error, where it fails", "something else", "unknown"],
])("what a container uses: %s", async (_name, message, kind) => {
  await using server = await startScriptedEngine((_request, response) => {
    response.writeHead(500, { "Content-Type": "application/json" }).end(JSON.stringify({ message }));
  });
  const engine = createDockerEngine({ socketPath: () => server.socketPath, clock: systemClock });
  const usage = engine.containerUsage("abc", new AbortController().signal);
  if (kind === undefined) expect(await usage).toBeUndefined();
  else await expect(usage).rejects.toMatchObject({ kind });
});
