import type { Command } from "commander";
import { addLocalCommands } from "../../src/agent/cli/commands.ts";
import { EXIT_CODE_HELP } from "../../src/agent/cli/exit-code.ts";
import { createProgram } from "../../src/agent/program.ts";
import { FILES, INTRODUCTION, JOURNAL, SEE_ALSO, SIGNALS, VARIABLES } from "./man-texts.ts";
import { paragraphs, quoted, roff, tagged } from "./roff.ts";

/** Options of every command, documented once. */
const COMMON = new Set(["--json", "--config", "--socket", "--help"]);

/** Returns the manual page edge-agent(8), generated from the definitions of the commands. */
export async function manPage(): Promise<string> {
  const program = createProgram();
  await addLocalCommands(program, undefined as never, undefined, () => undefined);
  const status = program.commands.find((command) => command.name() === "status");
  if (!status) throw new Error("there is no command status, from which the common options are taken");
  const lines = [
    '.\\" Made by npm run docs. Do not edit.',
    `.TH EDGE-AGENT 8 "" "edge-agent" "System Administration"`,
    ".SH NAME",
    "edge\\-agent \\- run containerised apps on this device, as its control plane asks",
    ".SH SYNOPSIS",
    ...synopsis(program),
    ".SH DESCRIPTION",
    ...paragraphs(INTRODUCTION),
    ".SH COMMANDS",
    ...visible(program).flatMap((command) => describe(command, "edge-agent")),
    ".SH COMMON OPTIONS",
    ...optionsOf(status, (name) => COMMON.has(name)),
    ".SH EXIT STATUS",
    ...exitCodes(),
    ...section("FILES", FILES),
    ...section("ENVIRONMENT", VARIABLES),
    ...section("SIGNALS", SIGNALS),
    ".SH JOURNAL",
    ...paragraphs(JOURNAL),
    ".SH SEE ALSO",
    ...paragraphs(SEE_ALSO),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns the commands that help shows, in their order of definition. */
function visible(command: Command): readonly Command[] {
  const shown = command.createHelp().visibleCommands(command);
  return command.commands.filter((one) => shown.includes(one));
}

function synopsis(program: Command): string[] {
  return visible(program).flatMap((command) => {
    const subcommands = visible(command);
    const names = subcommands.length > 0 ? [`${command.name()} ${subcommands.map((one) => one.name()).join("|")}`] : [];
    return [`.B edge\\-agent ${roff(names[0] ?? command.name())}`].concat(usage(command), ".br");
  });
}

function usage(command: Command): string[] {
  const given = command.usage().replace("[options]", "").trim();
  return given === "" || visible(command).length > 0 ? [] : [`.I ${roff(given)}`];
}

function describe(command: Command, prefix: string): string[] {
  const path = `${prefix} ${command.name()}`;
  const subcommands = visible(command);
  if (subcommands.length > 0) return subcommands.flatMap((one) => describe(one, path));
  const own = optionsOf(command, (name) => !COMMON.has(name));
  return [
    `.SS ${quoted(`${path} ${command.usage()}`)}`,
    `${roff(capital(command.description()))}.`,
    ...own,
    ...paragraphs(notes(command)),
  ];
}

function optionsOf(command: Command, isWanted: (long: string) => boolean): string[] {
  const options = command.createHelp().visibleOptions(command);
  return options
    .filter(({ long }) => isWanted(long ?? ""))
    .flatMap(({ flags, description, defaultValue }) => {
      const fallback = defaultValue === undefined ? "" : ` (default: ${JSON.stringify(defaultValue)})`;
      return tagged(flags, `${capital(description)}${fallback}.`);
    });
}

/** Returns the text that help shows after the options. */
function notes(command: Command): string {
  let shown = "";
  command.configureOutput({ writeOut: (text) => (shown += text) });
  command.outputHelp();
  return shown.slice(command.helpInformation().length).trim();
}

function exitCodes(): string[] {
  const rows = [...EXIT_CODE_HELP.matchAll(/^ {2}(\d+) +(.*)$/gm)];
  return rows.flatMap(([, code = "", meaning = ""]) => tagged(code, `${capital(meaning)}.`));
}

function section(title: string, entries: Readonly<Record<string, string>>): string[] {
  return [`.SH ${title}`, ...Object.entries(entries).flatMap(([name, text]) => tagged(name, text))];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
