import { describe, expect, it } from "vitest";
import { BENCHMARK_TABLES, parseBenchmarkResults, renderBenchmarks } from "../../../scripts/docs/benchmark-tables.ts";

const MACHINE = {
  time: "2026-11-28T10:00:00.000Z",
  commit: "0123abcd",
  cpu: "Xeon",
  cores: 2,
  memory_bytes: 25_325_268_992,
  kernel: "6.18.44",
  node: "v26.12.1",
  engine: "20.10.24",
};

/** Results of every benchmark, with these rows for one. */
function resultsWith(bench: string, rows: readonly object[]): string {
  const names = Object.values(BENCHMARK_TABLES).flat();
  const all = Object.fromEntries(names.map((name) => [name, [{ what: name, value: "1 ms" }]]));
  return JSON.stringify({ machine: MACHINE, results: { ...all, [bench]: rows } });
}

describe("tables of benchmarks", () => {
  it("have the rows of their benchmarks in order, and the page the run that they are from", () => {
    const rows = [
      {
        what: "gap | median",
        value: "437 ms",
        reference: "docker: 541 ms",
        ratio: 0.807,
        target: { text: "x", met: true },
      },
      { what: "rollback", value: "287 ms" },
    ];
    const sections = renderBenchmarks(parseBenchmarkResults(resultsWith("update-gap", rows)));
    expect(sections.get("conditions")).toBe(
      "All figures are from one run on 2026-11-28, of commit 0123abcd: 2 cores (Xeon), 25 GB, Linux 6.18.44, " +
        "Node.js v26.12.1, Docker 20.10.24.",
    );
    expect(sections.get("updates")).toBe(
      [
        "| what | measured | compared with | ratio | bench |",
        "| --- | --- | --- | --- | --- |",
        "| update | 1 ms |  |  | `update` |",
        String.raw`| gap \| median | 437 ms | docker: 541 ms | 0.81x | ${"`update-gap`"} |`,
        "| rollback | 287 ms |  |  | `update-gap` |",
      ].join("\n"),
    );
    expect([...sections.keys()]).toEqual(["conditions", ...Object.keys(BENCHMARK_TABLES)]);
  });

  it("are made of a complete run only", () => {
    expect(() => parseBenchmarkResults(resultsWith("idle", []))).toThrow("no results of idle");
  });

  it("have each benchmark once", () => {
    const names = Object.values(BENCHMARK_TABLES).flat();
    expect(new Set(names).size).toBe(names.length);
  });
});
