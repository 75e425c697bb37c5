import { join } from "node:path";
import { type Command, Option } from "commander";
import { errorText } from "../../lib/error-text.ts";
import { VERSION } from "../../lib/version.ts";
import { type Config, loadConfig, readConfigFile } from "../config/load.ts";
import { tryConfig } from "../config/config-error.ts";
import {
  CHECKS,
  checkOf,
  failedChecks,
  type CheckId,
  type CheckResult,
  type CheckResults,
} from "../core/doctor/checks.ts";
import { type AgentAnswer, judgeAgent } from "../core/doctor/judge-agent.ts";
import { judgeService } from "../core/doctor/judge-service.ts";
import { type ProbeContext, settingsOf } from "../doctor/probe.ts";
import { capitalize } from "../core/text.ts";
import { PROBES } from "../doctor/probes.ts";
import { runChecks } from "../doctor/run-checks.ts";
import { findLockHolder } from "../host/lock-holder.ts";
import { DaemonUnavailableError } from "../local/client.ts";
import { troublesOf } from "../local/troubles.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { AS_SERVICE, becomeService, canLookAs, checkAsService } from "./as-service.ts";
import { EXIT } from "./exit-code.ts";
import type { AgentPrinter } from "./printer.ts";
import { askServiceManager } from "./service-manager.ts";

const HELP = `
Checks this device and the path to its control plane, from the bottom up. Names the first thing that is broken, and
skips the checks that depend on it. Does not need the agent to be running, and changes nothing. Takes 20 s at most. Run
as root, it looks as the user and with the environment of the service.

Example:
  sudo edge-agent doctor

Exit codes: 0 nothing is broken, 1 something is.`;

export function addDoctor(program: Command, register: Register): void {
  const command = program.command("doctor").description("find what is broken, and what to do about it");
  withCommonOptions(command).addOption(new Option(AS_SERVICE).hideHelp()).addHelpText("after", HELP);
  register(command, async (context, _argument, { asService }) => {
    const { printer } = context;
    const results = asService === true ? await lookAsService(context) : await runDoctor(context);
    const broken = failedChecks(results);
    if (printer.json) printer.document(asDocument(results));
    else printResults(printer, results);
    return broken.length === 0 ? EXIT.ok : EXIT.wrong;
  });
}

/** Runs all checks on this device. */
export async function runDoctor(context: Context): Promise<CheckResults> {
  const [unit, { pid, answer }] = await Promise.all([askServiceManager(), askAgent(context)]);
  let obstacle: unknown;
  const asCaller = (): Promise<CheckResults> => probeAll(context, { isService: false, callerProxy: undefined });
  const results = new Map<CheckId, CheckResult>(
    canLookAs(unit, context.configPath)
      ? await checkAsService(unit, context.configPath).catch((error: unknown) => {
          obstacle = error;
          return asCaller();
        })
      : await asCaller(),
  );
  const service = unit && judgeService(unit, results, pid ?? lockHolder(context));
  results.set("service", service ?? { verdict: "good", text: "No systemd starts the agent here." });
  if (obstacle !== undefined && service?.verdict === "good") {
    const text = `${service.text} The doctor could not look as its user: ${errorText(obstacle)}.`;
    results.set("service", { verdict: "warning", text, next: "systemctl show edge-agent -p User,Group,Environment" });
  }
  results.set("agent", judgeAgent(answer, results));
  return results;
}

async function lookAsService(context: Context): Promise<CheckResults> {
  const { callerProxy } = becomeService();
  return await probeAll(context, { isService: true, callerProxy: callerProxy ?? undefined });
}

/** Runs the probes as this process's user. */
async function probeAll(
  { io, configPath }: Pick<Context, "io" | "configPath">,
  who: Pick<ProbeContext, "isService" | "callerProxy">,
): Promise<CheckResults> {
  const context = await createProbeContext({ io, configPath }, who);
  return await runChecks(PROBES, context, io.clock);
}

async function createProbeContext(
  { io, configPath }: Pick<Context, "io" | "configPath">,
  who: Pick<ProbeContext, "isService" | "callerProxy">,
): Promise<ProbeContext> {
  const settings = tryConfig(() => readConfigFile(configPath));
  const engine = await io.device.createEngine(settingsOf({ settings, configPath }));
  return {
    ...who,
    config: tryConfig(() => loadConfig(configPath)),
    settings,
    configPath,
    clock: io.clock,
    host: io.device.host,
    engine,
    openStore: io.device.openReader,
    readClock: io.device.readClock,
    createRegistryPing: (known: Config) => io.device.createRegistryPing(known, engine),
    agentVersion: VERSION,
  };
}

async function askAgent({ client, io }: Context): Promise<{ readonly pid?: number; readonly answer: AgentAnswer }> {
  try {
    const status = await client.request("GET", "/status", "status", { signal: io.interrupted });
    return { pid: status.agent.pid, answer: troublesOf(status) };
  } catch (error) {
    const reason = error instanceof DaemonUnavailableError ? error.reason : "hung";
    return { answer: { reason, text: capitalize(errorText(error)) } };
  }
}

/** An agent that was not started by the service may have its socket elsewhere, but not its lock. */
function lockHolder({ configPath }: Context): number | undefined {
  const settings = tryConfig(() => readConfigFile(configPath));
  return findLockHolder(join(settingsOf({ settings, configPath }).state_dir, "agent.lock"));
}

/** Returns the results as JSON output, also for a support bundle. */
export function asDocument(results: CheckResults): {
  readonly checks: readonly object[];
  readonly broken: readonly string[];
} {
  const checks = CHECKS.flatMap(({ id, title }) => (results.has(id) ? [{ id, title, ...results.get(id) }] : []));
  return { checks, broken: failedChecks(results) };
}
const TITLE_WIDTH = Math.max(...CHECKS.map(({ title }) => title.length));
const TEXT_AT = 4 + TITLE_WIDTH + 2;

function printResults(printer: AgentPrinter, results: CheckResults): void {
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
  const told: string[] = [];
  for (const id of [...broken, ...warned]) {
    const next = results.get(id)?.next;
    if (next === undefined || told.some((earlier) => earlier.includes(next))) continue;
    told.push(next);
    printer.paragraph(`${theme.bold(checkOf(id).title)}: `, checkOf(id).title.length + 2, next);
  }
}

function mark({ verdict }: CheckResult, { theme }: AgentPrinter): string {
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
