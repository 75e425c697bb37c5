import { resolve } from "node:path";
import type { Command } from "commander";
import { foregroundClock } from "../../lib/clock.ts";
import { RELEASES_FOLDER } from "../../lib/release/paths.ts";
import { ociArchitecture } from "../../lib/release/architecture.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import { MAX_TRIAL_STARTS, readReleases, type ReleasesState } from "../../lib/release/releases-state.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import { settingsOf } from "../doctor/probe.ts";
import { describeSetAside, runningRelease } from "../updates/describe.ts";
import { findAnswer, askUpdater, becomeOwnerOf, handOver, layoutReader, readParts } from "../updates/handover.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { CommandError, EXIT, type ExitCode } from "./exit-code.ts";

const LOOK_INTERVAL_MS = 250;
/** A slow SD card takes minutes to write a release. */
const ANSWER_TIMEOUT_MS = 600_000;

const HELP = `
Shows the versions of the agent on this device: the package's, and releases that were installed beside it. A new release
runs on trial: until it is confirmed, or the device goes back to the version before.

Examples:
  edge-agent releases
  sudo edge-agent releases install edge-agent_1.5.0.oci
  sudo edge-agent pin package`;

const INSTALL_HELP = `
LAYOUT is a folder that \`npm run package\` has written. One of the device's keys must have signed it. Needs root.

Exit codes: 0 it is installed and runs on trial, 1 the device refuses it.`;

const PIN_HELP = `
VERSION is one of \`edge-agent releases\`, "package" for the version that the package of the system brought, or "none".
Needs root.`;

interface Row {
  readonly version: string;
  readonly state: string;
}

export function addReleases(program: Command, register: Register): void {
  const command = program.command("releases").description("show the versions of the agent on this device");
  register(withCommonOptions(command).addHelpText("after", HELP), async ({ printer }) => {
    const state = readReleases(RELEASES_FOLDER);
    const running = runningRelease(process.argv[1] ?? "", RELEASES_FOLDER);
    const rows = rowsOf(state, running);
    if (printer.json) {
      const { setAside, ...rest } = state;
      printer.document({ running, ...rest, trial: state.trial ?? null, set_aside: Object.fromEntries(setAside) });
    } else {
      const columns: Column<Row>[] = [
        { header: "VERSION", cell: ({ version }: Row) => sanitizeLine(version) },
        { header: "STATE", cell: (row: Row) => sanitizeLine(row.state), canShrink: true },
      ];
      printer.line(renderTable(columns, rows, printer.theme, printer.width));
    }
    return EXIT.ok;
  });
  const install = command
    .command("install <layout>")
    .description("install a signed release from a folder, and run it on trial")
    .option("--downgrade", "also one that is older than what runs")
    .option("--again", "also one that this device has set aside");
  register(
    withCommonOptions(install).addHelpText("after", INSTALL_HELP),
    async (context, layout = "", options) =>
      await installRelease(context, resolve(layout), {
        downgrade: options["downgrade"] === true,
        again: options["again"] === true,
      }),
  );
}

/** For the help: the launcher of the package carries it out, whatever version runs. */
export function addPin(program: Command, register: Register): void {
  const command = program.command("pin <version>").description("keep this device on one version of the agent");
  register(withCommonOptions(command).addHelpText("after", PIN_HELP), async () => {
    throw new CommandError(EXIT.wrong, "This installation has no launcher, so it has one version only.");
  });
}

async function installRelease(
  { printer, io, readConfig, configPath }: Context,
  layout: string,
  options: { readonly downgrade: boolean; readonly again: boolean },
): Promise<ExitCode> {
  if (process.geteuid?.() !== 0)
    throw new CommandError(EXIT.forbidden, "Only root may install a release.", "Try it with sudo.");
  const { state_dir: stateDir } = settingsOf({ settings: await readConfig(), configPath });
  try {
    const parts = readParts(layoutReader(layout), ociArchitecture(process.arch));
    becomeOwnerOf(stateDir);
    handOver(stateDir, parts);
    const id = askUpdater(stateDir, { action: "install", ...options });
    const since = io.clock.monotonic();
    while (io.clock.monotonic() - since < ANSWER_TIMEOUT_MS) {
      const answer = findAnswer(id, RELEASES_FOLDER);
      if (answer?.ok === false) throw new CommandError(EXIT.wrong, `Refused: ${answer.message} (${answer.code}).`);
      if (answer?.ok === true) {
        if (printer.json) printer.document({ version: answer.version, state: "trial" });
        else printer.line(`Release ${answer.version} is installed and runs on trial. See: edge-agent releases`);
        return EXIT.ok;
      }
      await foregroundClock.sleep(LOOK_INTERVAL_MS, io.interrupted);
    }
  } catch (error) {
    if (error instanceof ReleaseError) throw new CommandError(EXIT.wrong, `${error.message} (${error.code}).`);
    throw error;
  }
  throw new CommandError(
    EXIT.wrong,
    "There is no answer.",
    "See: systemctl status edge-agent-update.path edge-agent-update",
  );
}

function rowsOf(state: ReleasesState, running: string): Row[] {
  const versions = [...new Set([...state.installed, ...state.setAside.keys()])];
  return ["package", ...versions].map((version) => {
    const { trial } = state;
    const aside = version === state.current ? undefined : state.setAside.get(version);
    const notes = [
      ...(version === running ? ["runs"] : []),
      ...(version === state.current ? ["confirmed"] : []),
      ...(trial?.version === version ? [`on trial, start ${trial.starts} of ${MAX_TRIAL_STARTS}`] : []),
      ...(version === state.pin ? ["pinned"] : []),
      ...(aside ? [`set aside: ${describeSetAside(aside)}`] : []),
    ];
    return { version, state: notes.join(", ") || "-" };
  });
}
