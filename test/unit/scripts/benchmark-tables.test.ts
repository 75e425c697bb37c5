import { describe, expect, it } from "vitest";
import { BENCHMARK_TABLES, parseBenchmarkResults, renderBenchmarks } from "../../../scripts/docs/benchmark-tables.ts";
import { readmeFigures } from "../../../scripts/docs/readme-figures.ts";

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

const row = (what: string, value: string, reference?: string) => ({ what, value, reference });

describe("the figures of README.md", () => {
  const results: Record<string, object[]> = {
    "bad-link": [
      row("100 MB layer, link cut every 15 MB: on the wire", "101.0 MB"),
      row("100 MB layer, link cut every 1 MB: on the wire", "101.2 MB", "docker pull: never completes"),
    ],
    update: [
      row("app of 13705 files, patch release, with an index: received", "0.91 MB (1/30.9)", "docker pull: 28.13 MB"),
    ],
    "update-gap": [row("update that crashes: from the decision until the previous version answers, median", "287 ms")],
    recovery: [row("killed in mid-deployment, image present: until the app runs, median", "586 ms")],
    traffic: [row("agent idle, a month: computed, with 4320 keep-alives", "0.90 MB")],
    idle: [row("agent idle, one app: memory (PSS)", "61.8 MB")],
    fleet: [
      row("edge-control: 9500 devices: memory of one", "11.1 KiB"),
      row("edge-control: 32 deployments at a time, 6 device events each", "676/s, p99 90 ms"),
    ],
  };
  const parse = (bench: string, rows: readonly object[]) => {
    const complete = JSON.parse(resultsWith(bench, rows)) as { results: Record<string, object[]> };
    return parseBenchmarkResults(
      JSON.stringify({ ...complete, results: { ...complete.results, ...results, [bench]: rows } }),
    );
  };

  it("are those of the run", () => {
    const table = readmeFigures(parse("idle", results["idle"] ?? []));
    for (const figure of [
      "101.2 MB received; docker pull: never completes",
      "0.91 MB (1/30.9); docker pull: 28.13 MB",
      "287 ms from the decision to its answer",
      "586 ms from a kill in mid-deployment to the running app",
      "0.90 MB a month, 61.8 MB of memory",
      "9500 at 11.1 KiB each, 676 deployments a second",
    ])
      expect(table).toContain(`| ${figure} |`);
  });

  it("are not silently missing where a benchmark names its result differently", () => {
    const renamed = parse("idle", [row("memory", "61.8 MB")]);
    expect(() => readmeFigures(renamed)).toThrow("idle has no result “memory (PSS)”");
  });
});
