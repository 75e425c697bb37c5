import { readFileSync } from "node:fs";
import { z } from "zod";

/** The results of one run of all benchmarks in `BENCHMARK_TABLES`: `npm run bench -- --page` writes them. */
export const BENCHMARK_RESULTS = "docs/benchmarks.json";

/** The generated sections of docs/benchmarks.md, each with the benchmarks whose rows it has. */
export const BENCHMARK_TABLES: Readonly<Record<string, readonly string[]>> = {
  deployments: ["deploy-present", "deploy-files", "deploy-pull", "bad-link", "durable-writes", "recovery"],
  updates: ["update", "update-gap"],
  "at-rest": ["exec-to-online", "status-command", "idle", "idle-apps", "traffic"],
  small: ["small"],
  "remote-access": ["forward"],
  service: ["asset-read", "asset-list", "fleet", "fleet-shared", "fleet-loss", "usage-year", "sizes-of-a-year"],
  fleets: ["return-of-a-fleet", "rollout", "judgement"],
  console: ["console"],
};

const resultsSchema = z.object({
  machine: z.object({
    time: z.iso.datetime(),
    commit: z.string(),
    cpu: z.string(),
    cores: z.int(),
    memory_bytes: z.int(),
    kernel: z.string(),
    node: z.string(),
    engine: z.string(),
  }),
  results: z.record(
    z.string(),
    z.array(
      z.object({
        what: z.string(),
        value: z.string(),
        reference: z.string().optional(),
        ratio: z.number().nullish(),
      }),
    ),
  ),
});
export type BenchmarkResults = z.output<typeof resultsSchema>;

/** Parses the results of a run. Throws if they are not complete: the page has the figures of one run only. */
export function parseBenchmarkResults(json: string): BenchmarkResults {
  const parsed = resultsSchema.parse(JSON.parse(json));
  const missing = Object.values(BENCHMARK_TABLES)
    .flat()
    .filter((name) => (parsed.results[name] ?? []).length === 0);
  if (missing.length > 0) throw new Error(`no results of ${missing.join(", ")}`);
  return parsed;
}

/** Returns the results of the run that is recorded. */
export function recordedBenchmarks(): BenchmarkResults {
  return parseBenchmarkResults(readFileSync(BENCHMARK_RESULTS, "utf8"));
}

/** Returns what the generated sections of docs/benchmarks.md contain, by their names. */
export function renderBenchmarks({ machine, results }: BenchmarkResults): ReadonlyMap<string, string> {
  const { time, commit, cpu, cores, memory_bytes: memory, kernel, node, engine } = machine;
  const conditions =
    `All figures are from one run on ${time.slice(0, 10)}, of commit ${commit}: ${cores} cores (${cpu}), ` +
    `${(memory / 1e9).toFixed(0)} GB, Linux ${kernel}, Node.js ${node}, Docker ${engine}.`;
  const tables = Object.entries(BENCHMARK_TABLES).map(([name, benches]) => {
    const rows = benches.flatMap((bench) => (results[bench] ?? []).map((row) => toCells(row, bench)));
    return [name, [HEADER, HEADER.map(() => "---"), ...rows].map(line).join("\n")] as const;
  });
  return new Map([["conditions", conditions], ...tables]);
}

const HEADER = ["what", "measured", "compared with", "ratio", "bench"];

function toCells({ what, value, reference, ratio }: BenchmarkResults["results"][string][number], bench: string) {
  return [what, value, reference ?? "", ratio == null ? "" : `${ratio.toFixed(2)}x`, `\`${bench}\``];
}

const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;
