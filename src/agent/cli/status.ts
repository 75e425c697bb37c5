import type { Command } from "commander";
import { errorText } from "../../lib/error-text.ts";
import { RELEASES_FOLDER } from "../../lib/release/paths.ts";
import { readReleases } from "../../lib/release/releases-state.ts";
import { capitalize } from "../core/text.ts";
import { ConfigError } from "../config/config-error.ts";
import { describeState, judgeService } from "../core/doctor/judge-service.ts";
import type { DeviceStatus } from "../local/api.ts";
import { DaemonUnavailableError } from "../local/client.ts";
import { deviceTroubles, troublesOf } from "../local/troubles.ts";
import { releaseNotes, runningRelease } from "../updates/describe.ts";
import { type Context, HUNG_HINT, type Register, withCommonOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { AgentPrinter } from "./printer.ts";
import { askServiceManager, serviceDocument, type Unit } from "./service-manager.ts";
import { renderApps, renderDevice, renderStatus } from "./status-view.ts";

const HELP = `
Also works while the agent is not running: then says so, and shows what is known without it.

Example:
  edge-agent status

Exit codes: 0 all is well, 1 something is wrong, 3 the agent is not running.`;

export function addStatus(program: Command, register: Register): void {
  const command = program.command("status").description("show the state of link, engine, disk and apps");
  register(withCommonOptions(command).addHelpText("after", HELP), (context) => showStatus(context));
}

async function showStatus(context: Context): Promise<ExitCode> {
  const { client, printer, io } = context;
  try {
    const status = await client.request("GET", "/status", "status", { signal: io.interrupted });
    const unit = await askServiceManager();
    const service = unit && judgeService(unit, new Map(), status.agent.pid);
    const troubles = [...(service?.verdict === "bad" ? [service] : []), ...troublesOf(status)].map(sentenceOf);
    const releases = releaseNotes(
      readReleases(RELEASES_FOLDER),
      runningRelease(process.argv[1] ?? "", RELEASES_FOLDER),
    );
    if (printer.json) printer.document({ ...status, releases, troubles });
    else {
      printer.line(renderStatus(status, printer.theme, releases));
      printDevice(printer, status.device);
      printTroubles(printer, troubles);
    }
    return troubles.length === 0 ? EXIT.ok : EXIT.wrong;
  } catch (error) {
    if (error instanceof DaemonUnavailableError && error.isDown) return await showDaemonDown(context, error);
    throw error;
  }
}

async function showDaemonDown(context: Context, error: DaemonUnavailableError): Promise<ExitCode> {
  const { printer } = context;
  const [service, device] = await Promise.all([askServiceManager(), readDeviceWithoutDaemon(context)]);
  if (printer.json) {
    const known = typeof device === "string" ? { device: null, device_error: device } : { device };
    printer.document({
      agent: null,
      reason: error.message,
      service: service ? serviceDocument(service) : null,
      ...known,
    });
    return EXIT.down;
  }
  printer.paragraph("", 0, `${capitalize(error.message)}.`, printer.theme.red);
  if (service) printService(printer, service);
  else printer.line(error.reason === "hung" ? HUNG_HINT : "Start it with: sudo systemctl start edge-agent");
  printer.line();
  if (typeof device === "string") printer.paragraph("", 0, `Nothing is known of the apps: ${device}`);
  else {
    printer.line(renderDevice(device, printer.theme));
    printDevice(printer, device);
    printTroubles(printer, deviceTroubles(device).map(sentenceOf));
  }
  return EXIT.down;
}

/** Reads the device's status without the daemon. Returns the reason as text if that is not possible. */
async function readDeviceWithoutDaemon({ readConfig, io }: Context): Promise<DeviceStatus | string> {
  const config = await readConfig();
  if (config instanceof ConfigError) return config.message;
  try {
    const { clock, device } = io;
    using store = await device.openReader(config.state_dir);
    const engine = await device.createEngine(config);
    const sources = {
      engine,
      engineInfo: (signal: AbortSignal) => engine.info(signal),
      host: device.host,
      store,
      clock,
      diskReserveBytes: config.deploy.disk_reserve_bytes,
    };
    const { readDeviceStatus } = await import("../local/device-status.ts");
    return await readDeviceStatus(sources, io.interrupted);
  } catch (error) {
    return errorText(error);
  }
}

function printService(printer: AgentPrinter, unit: Unit): void {
  const { journal } = unit;
  printer.paragraph("", 0, `${describeState(unit)}.`);
  // The doctor knows why a service fails.
  const next = unit.result === "success" ? judgeService(unit, new Map(), undefined)?.next : undefined;
  printer.paragraph("", 0, `Next: ${next ?? "sudo edge-agent doctor"}`);
  if (journal.length === 0) return;
  printer.line("The last lines of its journal:");
  for (const line of journal) printer.raw(`  ${line}`);
}

function printDevice(printer: AgentPrinter, { apps, deployments }: DeviceStatus): void {
  printer.line();
  printer.line(renderApps(apps, printer.theme, printer.width));
  if (deployments.length === 0) return;
  printer.line();
  printer.line(printer.theme.bold("Deployments in progress"));
  for (const { app, step, message, progress } of deployments) {
    const percent = progress === null ? "" : ` ${progress} %`;
    printer.paragraph("  ", 4, `${app || "(no name)"}: ${step}${percent}. ${message}`);
  }
}

function printTroubles(printer: AgentPrinter, troubles: readonly string[]): void {
  if (troubles.length > 0) printer.line();
  for (const trouble of troubles) printer.paragraph(printer.theme.red("! "), 2, trouble);
}

function sentenceOf({ text, next }: { readonly text: string; readonly next?: string }): string {
  return `${text} ${next === undefined ? "See: edge-agent doctor" : `Next: ${next}`}`;
}
