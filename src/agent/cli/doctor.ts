import type { Command } from "commander";
import { VERSION } from "../../lib/version.ts";
import { type Config, loadConfig } from "../config/load.ts";
import { tryConfig } from "../config/config-error.ts";
import { CHECKS, checkOf, failedChecks, type CheckResult, type CheckResults } from "../core/doctor/checks.ts";
import type { ProbeContext } from "../doctor/probe.ts";
import { PROBES } from "../doctor/probes.ts";
import { runChecks } from "../doctor/run-checks.ts";
import type { Register } from "./register.ts";
import { type Context, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import type { Printer } from "./printer.ts";

const HELP = `
Checks this device and the path to its control plane, from the bottom up. Names the first thing that is broken, and
skips the checks that depend on it. Does not need the agent to be running, and changes nothing. Takes 15 s at most. Run
it as root, to see what the agent sees.

Example:
  sudo edge-agent doctor

Exit codes: 0 nothing is broken, 1 something is.`;

export function addDoctor(program: Command, register: Register): void {
  const command = program.command("doctor").description("find what is broken, and what to do about it");
  register(withCommonOptions(command).addHelpText("after", HELP), async (context) => {
    const { printer } = context;
    const results = await runDoctor(context);
    const broken = failedChecks(results);
    if (printer.json) printer.document(asDocument(results));
    else printResults(printer, results);
    return broken.length === 0 ? EXIT.ok : EXIT.wrong;
  });
}

/** Runs all checks on this device. */
export async function runDoctor({ io, configPath }: Context): Promise<CheckResults> {
  const config = tryConfig(() => loadConfig(configPath));
  const { clock, host } = io;
  const engine = await io.createEngine(config instanceof Error ? { engine: {} } : config);
  const probeContext: ProbeContext = {
    config,
    clock,
    host,
    engine,
    openStore: io.openReader,
    createRegistryPing: (known: Config) => io.createRegistryPing(known, engine),
    agentVersion: VERSION,
  };
  return await runChecks(PROBES, probeContext, clock);
}

/** Returns the results as JSON output, also for a support bundle. */
export function asDocument(results: CheckResults): {
  readonly checks: readonly object[];
  readonly broken: readonly string[];
} {
  const checks = CHECKS.map(({ id, title }) => ({ id, title, ...results.get(id) }));
  return { checks, broken: failedChecks(results) };
}

const TITLE_WIDTH = Math.max(...CHECKS.map(({ title }) => title.length));
const TEXT_AT = 4 + TITLE_WIDTH + 2;

function printResults(printer: Printer, results: CheckResults): void {
  const { theme } = printer;
  for (const { id, title } of CHECKS) {
    const result = results.get(id);
    if (!result) continue;
    const paint = result.verdict === "skipped" ? theme.dim : (text: string) => text;
    printer.paragraph(`${mark(result, printer)} ${title.padEnd(TITLE_WIDTH)}  `, TEXT_AT, result.text, paint);
  }
  const warned = CHECKS.filter(({ id }) => results.get(id)?.verdict === "warning").map(({ id }) => id);
  const broken = failedChecks(results);
  printer.line();
  if (broken.length === 0) printer.line(theme.green("Nothing is broken."));
  for (const id of [...broken, ...warned]) {
    const next = results.get(id)?.next;
    if (next !== undefined) printer.paragraph(`${theme.bold(checkOf(id).title)}: `, checkOf(id).title.length + 2, next);
  }
}

function mark({ verdict }: CheckResult, { theme }: Printer): string {
  switch (verdict) {
    case "good":
      return ` ${theme.green(theme.tick.padEnd(2))}`;
    case "warning":
      return ` ${theme.yellow("? ")}`;
    case "bad":
      return ` ${theme.red("! ")}`;
    case "skipped":
      return ` ${theme.dim("- ")}`;
  }
}
