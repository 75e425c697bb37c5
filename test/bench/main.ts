import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readModules } from "../../scripts/test/modules.ts";
import { prepare } from "../../scripts/test/run.ts";
import { BENCHMARK_RESULTS, BENCHMARK_TABLES, parseBenchmarkResults } from "../../scripts/docs/benchmark-tables.ts";
import { agentAway } from "./agent-updates/agent-away.ts";
import { agentBroken } from "./agent-updates/agent-broken.ts";
import { agentFleet } from "./agent-updates/agent-fleet.ts";
import { agentOlder } from "./agent-updates/agent-older.ts";
import { badLink } from "./bad-link.ts";
import { beforeAfter } from "./before-after.ts";
import { webConsole } from "./console/console.ts";
import { deployFiles } from "./deploy-files.ts";
import { deployPresent } from "./deploy-present.ts";
import { deployPull } from "./deploy-pull.ts";
import { durableWrites } from "./durable-writes.ts";
import { execToOnline } from "./exec-to-online.ts";
import { forward } from "./forward.ts";
import { history } from "./history.ts";
import { idle } from "./idle.ts";
import { idleApps } from "./idle-apps.ts";
import { describeMachine } from "./machine.ts";
import { recovery } from "./recovery.ts";
import type { Bench, BenchResult } from "./result.ts";
import { returnOfAFleet } from "./return-of-a-fleet.ts";
import { agentRollout } from "./service/agent-rollout.ts";
import { alertOutage } from "./service/alert-outage.ts";
import { assetList } from "./service/asset-list.ts";
import { assetRead } from "./service/asset-read.ts";
import { fleet } from "./service/fleet.ts";
import { fleetLoss } from "./service/fleet-loss.ts";
import { fleetShared } from "./service/fleet-shared.ts";
import { floods } from "./service/floods.ts";
import { healthMonths } from "./service/health-months.ts";
import { judgement } from "./service/judgement.ts";
import { pages } from "./service/pages/pages.ts";
import { rollout } from "./service/rollout.ts";
import { usageYear } from "./service/usage-year.ts";
import { small } from "./small/small.ts";
import { smallRun } from "./small/small-run.ts";
import { sizesOfAYear } from "./sizes-of-a-year.ts";
import { statusCommand } from "./status-command.ts";
import { table } from "./table.ts";
import { traffic } from "./traffic.ts";
import { update } from "./update/update.ts";
import { updateGap } from "./update-gap.ts";

const BENCHES: readonly Bench[] = [
  deployPresent,
  deployPull,
  deployFiles,
  badLink,
  updateGap,
  update,
  execToOnline,
  statusCommand,
  idle,
  idleApps,
  traffic,
  forward,
  recovery,
  durableWrites,
  returnOfAFleet,
  assetRead,
  assetList,
  pages,
  usageYear,
  sizesOfAYear,
  fleet,
  fleetShared,
  floods,
  alertOutage,
  fleetLoss,
  rollout,
  judgement,
  webConsole,
  beforeAfter,
  history,
  healthMonths,
  small,
  smallRun,
  agentFleet,
  agentOlder,
  agentBroken,
  agentAway,
  agentRollout,
];
const FOLDER = "bench-results";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean" },
    page: { type: "boolean" },
    baseline: { type: "string" },
    minutes: { type: "string" },
  },
});
const { quick = false, page = false, baseline, minutes } = values;
if (page && (quick || positionals.length > 0)) {
  console.error("--page records one whole run: it takes neither --quick nor names");
  process.exit(2);
}
const named = page ? Object.values(BENCHMARK_TABLES).flat() : positionals;
const unknown = named.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(", ")}; there are ${BENCHES.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const selected = BENCHES.filter(({ name, isOnRequest = false }) => {
  return named.length === 0 ? !isOnRequest : named.includes(name);
});

// Also ends child processes. Containers and images may remain; their names begin with eat-.
process.on("SIGINT", () => process.exit(130));
await prepare(readModules(), ["test/bench/main.ts"]);
const machine = describeMachine();
await mkdir(FOLDER, { recursive: true });
// A run of more than an hour may end in its midst: what this commit has measured for the page is not measured again.
const kept = join(FOLDER, `page-${String(machine["commit"])}.json`);
const results: Record<string, BenchResult> =
  page && existsSync(kept) ? (JSON.parse(readFileSync(kept, "utf8")) as Record<string, BenchResult>) : {};
const failed: string[] = [];
for (const bench of selected.filter(({ name }) => !results[name])) {
  const start = performance.now();
  try {
    results[bench.name] = await bench.run({
      quick,
      baseline,
      minutes: minutes === undefined ? undefined : Number(minutes),
    });
    if (page) await writeFile(kept, JSON.stringify(results));
  } catch (error) {
    failed.push(bench.name);
    console.error(error);
  }
  console.error(`${bench.name}: ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

const file = join(FOLDER, `${String(machine["time"]).replaceAll(":", "-")}.json`);
await writeFile(file, JSON.stringify({ machine, quick, results }, null, 2));
if (page && failed.length === 0) {
  const rows = Object.fromEntries(Object.entries(results).map(([name, result]) => [name, result.rows]));
  const recorded = parseBenchmarkResults(JSON.stringify({ machine, results: rows }));
  await writeFile(BENCHMARK_RESULTS, `${JSON.stringify(recorded, null, 2)}\n`);
  console.error(`recorded in ${BENCHMARK_RESULTS}: npm run docs brings them to docs/benchmarks.md`);
}
console.log(table(Object.values(results).flatMap(({ rows }) => rows)));
console.log(`\n${JSON.stringify(machine)}\n${file}`);
if (failed.length > 0) {
  console.error(`failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
