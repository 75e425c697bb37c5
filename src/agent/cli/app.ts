import type { Command } from "commander";
import { parseContainerStatus } from "../core/app/container-status.ts";
import { explainApp, type Explanation, type Finding, type AppSnapshot } from "../core/app/explain-app.ts";
import { parseRestartPolicy } from "../core/app/restart-policy.ts";
import type { AppFacts } from "../local/api.ts";
import { runsFor } from "../local/device-status.ts";
import { type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import type { AgentPrinter } from "./printer.ts";
import { portsText, shortTime } from "./status-view.ts";

const HELP = `
Follows the app from its deployment to its last log line, and says what is wrong.

Example:
  edge-agent app node-red

Exit codes: 0 it runs or has finished its work, 1 it does not run as it should, 3 the agent is not running, 4 there is no such app.`;

export function addApp(program: Command, register: Register): void {
  const command = program.command("app <name>").description("why an app runs, or why it does not");
  register(withCommonOptions(command).addHelpText("after", HELP), async ({ client, printer, io }, name = "") => {
    const path = `/apps/${encodeURIComponent(name)}`;
    const facts = await client.request("GET", path, "app", { signal: io.interrupted });
    const explanation = explainApp(toAppSnapshot(facts, io.clock.timeOfDay()));
    if (printer.json) printer.document({ ...facts, ...explanation });
    else printApp(printer, facts, explanation);
    return explanation.cause === undefined ? EXIT.ok : EXIT.wrong;
  });
}

function toAppSnapshot(facts: AppFacts, nowMs: number): AppSnapshot {
  const { container, deploying, last_repair: repair } = facts;
  return {
    name: facts.name,
    image: facts.deployed?.image,
    desired: facts.deployed?.desired ?? "running",
    engineError: facts.engine_error ?? undefined,
    restartPolicy: parseRestartPolicy(facts.deployed?.restart_policy),
    lastRun: toRunEnd(container?.last_exit),
    container: container
      ? {
          status: parseContainerStatus(container.status),
          restartCount: container.restart_count,
          maxRestarts: container.max_restarts ?? undefined,
          exitCode: container.exit_code,
          oomKilled: container.oom_killed,
          health: container.health,
          healthOutput: container.health_output,
          runsForMs: runsFor(container.started_at, nowMs),
        }
      : undefined,
    imagePresent: facts.image_present ?? undefined,
    missingDevices: facts.missing_devices,
    foreign: facts.foreign ?? undefined,
    failedDisk: facts.failed_disk ?? undefined,
    takenPorts: facts.taken_ports,
    policyDenial: facts.forbidden ?? undefined,
    held: facts.held ?? undefined,
    notRepaired: facts.not_repaired ?? undefined,
    deploying: deploying ? deploying.message || deploying.step : undefined,
    lastFailure: lastFailure(facts),
    lastRepair: repair?.kind === "repair" ? { reason: repair.reason, error: repair.error } : undefined,
  };
}

function toRunEnd(last: NonNullable<AppFacts["container"]>["last_exit"] | undefined): AppSnapshot["lastRun"] {
  return last ? { exitCode: last.exit_code, oomKilled: last.oom_killed } : undefined;
}

function lastFailure({ last_deployment: last }: AppFacts): string | undefined {
  const end = last?.kind === "deployment" ? last.events.at(-1) : undefined;
  return end?.status === "Fail" ? `${end.message}${end.code === undefined ? "" : ` (${end.code})`}` : undefined;
}

function printApp(printer: AgentPrinter, facts: AppFacts, explanation: Explanation): void {
  const { findings, cause, advice, conclusion } = explanation;
  const { theme } = printer;
  printer.line(theme.bold(printer.safe(facts.name)));
  for (const finding of findings) printer.paragraph(mark(finding, printer), 5, finding.text);
  printFacts(printer, facts);
  if (facts.log.length > 0) {
    printer.line();
    printer.line(theme.bold("Its last log lines"));
    for (const line of facts.log) printer.raw(`  ${line}`);
  }
  printer.line();
  if (cause === undefined) printer.line(theme.green(conclusion ?? "It runs."));
  else printer.paragraph(theme.red("Why:  "), 6, cause);
  if (advice !== undefined) printer.paragraph("Next: ", 6, advice, theme.cyan);
}

function mark({ verdict }: Finding, { theme }: AgentPrinter): string {
  switch (verdict) {
    case "good":
      return `  ${theme.green(theme.tick.padEnd(2))} `;
    case "bad":
      return `  ${theme.red("! ")} `;
    case "note":
      return `  ${theme.dim(theme.bullet.padEnd(2))} `;
  }
}

/** Empty for an app that has no container, or one that was never started. */
function lastStart(container: AppFacts["container"]): string {
  const time = shortTime(container?.started_at ?? null);
  return time === "-" ? "" : `${time} UTC`;
}

function printFacts(printer: AgentPrinter, { deployed, container }: AppFacts): void {
  if (!deployed) return;
  const { ports, host_network: onHost, reached_as: reachedAs, volumes, variables, privileged } = deployed;
  const fields = [
    ["Ports", onHost ? "the host's network" : portsText(ports)],
    // Said by the agent; older ones have no network with names.
    ["Reached by others as", reachedAs.join(", ")],
    [
      "Volumes",
      volumes
        .map(({ local, name = "", target, readonly }) => `${local ?? name}:${target}${readonly ? " (read-only)" : ""}`)
        .join(" "),
    ],
    ["Variables", variables.join(" ")],
    ["Privileged", privileged ? "yes" : ""],
    [container?.status === "running" ? "Running since" : "Last started", lastStart(container)],
    ["Deployment", deployed.deployment_id],
  ] as const;
  printer.line();
  for (const [name, value] of fields) {
    if (value !== "") printer.paragraph(`  ${printer.theme.dim(name.padEnd(21))}`, 23, value);
  }
}
