import type { Command } from "commander";
import { errorText } from "../../lib/error-text.ts";
import { capitalize } from "../core/text.ts";
import { ConfigError } from "../config/config-error.ts";
import type { DeviceStatus, LinkResponse, Status } from "../local/api.ts";
import { DaemonUnavailableError } from "../local/client.ts";
import type { Register } from "./register.ts";
import { type Context, HUNG_HINT, withCommonOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { Printer } from "./printer.ts";
import type { ServiceFacts } from "./service-manager.ts";
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
    const troubles = troublesOf(status);
    if (printer.json) printer.document({ ...status, troubles });
    else {
      printer.line(renderStatus(status, printer.theme));
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
  const { askServiceManager } = await import("./service-manager.ts");
  const [service, device] = await Promise.all([askServiceManager(), readDeviceWithoutDaemon(context)]);
  if (printer.json) {
    const known = typeof device === "string" ? { device: null, device_error: device } : { device };
    printer.document({ agent: null, reason: error.message, service: service ?? null, ...known });
    return EXIT.down;
  }
  printer.paragraph("", 0, `${capitalize(error.message)}.`, printer.theme.red);
  if (service) printService(printer, service);
  else printer.line(error.reason === "hung" ? HUNG_HINT : "Start it with: systemctl start edge-agent");
  printer.line();
  if (typeof device === "string") printer.paragraph("", 0, `Nothing is known of the apps: ${device}`);
  else {
    printer.line(renderDevice(device, printer.theme));
    printDevice(printer, device);
    printTroubles(printer, deviceTroubles(device));
  }
  return EXIT.down;
}

/** Reads the device's status without the daemon. Returns the reason as text if that is not possible. */
async function readDeviceWithoutDaemon({ readConfig, io }: Context): Promise<DeviceStatus | string> {
  const config = await readConfig();
  if (config instanceof ConfigError) return config.message;
  try {
    using store = await io.openReader(config.state_dir);
    const { host, clock } = io;
    const engine = await io.createEngine(config);
    const sources = {
      engine,
      dataRoot: async (signal: AbortSignal) => (await engine.info(signal)).dataRoot,
      host,
      store,
      clock,
      diskReserveBytes: config.deploy.disk_reserve_bytes,
      isBusy: () => false,
      heldFor: () => undefined,
      createPolicyCheck: () => async () => undefined,
    };
    const { readDeviceStatus } = await import("../local/device-status.ts");
    return await readDeviceStatus(sources, io.interrupted);
  } catch (error) {
    return errorText(error);
  }
}

function printService(printer: Printer, { summary, journal }: ServiceFacts): void {
  printer.paragraph("", 0, `The service is ${summary}.`);
  if (journal.length === 0) return;
  printer.line("The last lines of its journal:");
  for (const line of journal) printer.raw(`  ${line}`);
}

function printDevice(printer: Printer, { apps, deployments }: DeviceStatus): void {
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

function printTroubles(printer: Printer, troubles: readonly string[]): void {
  if (troubles.length > 0) printer.line();
  for (const trouble of troubles) printer.paragraph(printer.theme.red("! "), 2, trouble);
}

/** Returns the problems, each in one sentence with what to do next. Empty if there are none. */
export function troublesOf(status: Status): string[] {
  return [...linkTroubles(status.link), ...deviceTroubles(status.device), ...(status.clock ? [status.clock] : [])];
}

/** Returns the problems that can be found without the daemon. */
function deviceTroubles({ engine, disk, apps }: DeviceStatus): string[] {
  if (!engine.ok) return [`The container engine does not answer: ${engine.reason}. See: edge-agent doctor`];
  const isFull = disk !== null && disk.free_bytes < disk.reserve_bytes;
  return [
    ...(isFull ? [`Too little disk space at ${disk.path}: nothing can be deployed.`] : []),
    ...apps.flatMap(({ name, trouble }) =>
      trouble === null ? [] : [`${name} does not run as it should: ${trouble}. See: edge-agent app ${name}`],
    ),
  ];
}

function linkTroubles({ state, last_error: error }: LinkResponse): string[] {
  if (state === "online") return [];
  return [`No link to the control plane${error ? `: ${error.reason}` : ""}. See: edge-agent doctor`];
}
