import { readFileSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { type CommandOptions, run, type RunningCommand, start } from "./command.ts";

/** A fenced block of a Markdown document. */
export interface Block {
  readonly file: string;
  /** The heading above it, without its `#`. */
  readonly heading: string;
  /** Its position among the blocks of commands under the heading, from 1. */
  readonly number: number;
  readonly language: string;
  readonly text: string;
}

/** Languages of blocks of commands for a shell. `console`: with a `$` before each command, and what it writes. */
const COMMANDS = new Set(["sh", "console"]);

/** Returns the blocks of a document in order. */
export function blocksOf(file: string): Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { readonly fence: RegExp; readonly language: string; readonly lines: string[] } | undefined;
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const [, indent, language = ""] = /^( *)```(\w*)$/.exec(line) ?? [];
    if (open) {
      if (!open.fence.test(line)) {
        open.lines.push(line);
        continue;
      }
      const { language: its, lines } = open;
      const earlier = blocks.filter((block) => block.heading === heading && COMMANDS.has(block.language));
      blocks.push({ file, heading, number: earlier.length + 1, language: its, text: lines.join("\n") });
      open = undefined;
    } else if (indent !== undefined) {
      open = { fence: new RegExp(`^${indent}\`\`\`$`), language, lines: [] };
    } else if (/^#+ /.test(line)) {
      heading = line.replace(/^#+ /, "");
    }
  }
  return blocks;
}

/** Returns the blocks of commands of a document. */
export function commandBlocksOf(file: string): Block[] {
  return blocksOf(file).filter(({ language }) => COMMANDS.has(language));
}

/**
 * Returns the commands of a block as they are printed. A repository test finds the calls by their literal arguments, and requires one
 * for each block: see `test/repo/documented-commands.test.ts`.
 *
 * @param number its position among the blocks of commands under this heading
 */
export function documented(file: string, heading: string, number = 1): string {
  const block = commandBlocksOf(file).find((each) => each.heading === heading && each.number === number);
  if (!block) throw new Error(`${file} has no block of commands ${number} under "${heading}"`);
  if (block.language === "sh") return block.text;
  return [...block.text.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command).join("\n");
}

/** Replaces placeholders, and what a test must not share with its machine. Throws if the text lacks one of them. */
export function fill(text: string, replacements: Readonly<Record<string, string>>): string {
  let filled = text;
  for (const [from, to] of Object.entries(replacements)) {
    if (!filled.includes(from)) throw new Error(`the documented commands have no ${from}: ${text}`);
    filled = filled.replaceAll(from, to);
  }
  return filled;
}

/**
 * Runs commands in a shell that ends with the first one that fails, and returns what they write. Rejects if one fails. An HTTP
 * error is a failure of `curl`; a stream of the service that has no end is read for a second.
 *
 * @param before commands that a reader has run earlier
 */
export async function runPrinted(text: string, before: string, options: CommandOptions = {}): Promise<string> {
  const script = `${CURL}\n${before}\n${text}\n`;
  const { code, stdout, stderr } = await run("bash", ["-c", script], { timeoutMs: 240_000, ...options });
  if (code !== 0) throw new Error(`the documented commands ended with ${code}:\n${text}\n${stdout}${stderr}`);
  return stdout;
}

const CURL = `set -euo pipefail
shopt -s expand_aliases
curl() {
  case "$*" in
    */v1/events\\?*|*/rol_*/events*|*follow=true*) command curl --fail-with-body --max-time 1 "$@" || [ $? = 28 ] ;;
    *) command curl --fail-with-body "$@" ;;
  esac
}`;

/** What a reader types at commands that ask. */
const TYPED: readonly (readonly [RegExp, string])[] = [
  [/ -- sh\b/, "exit\n"],
  [/\| less$/, "\nq"],
  [/./, "y\n"],
];

/** Starts a command on a terminal, with the built programs and a configuration of the directory's own. */
export function startOnTerminal(
  command: string,
  directory: string,
  variables: Readonly<Record<string, string>> = {},
): RunningCommand {
  const PATH = [resolve("dist"), process.env["PATH"]].join(delimiter);
  const input = TYPED.find(([pattern]) => pattern.test(command))?.[1] ?? "";
  return start("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: directory,
    env: { ...variables, PATH, XDG_CONFIG_HOME: directory, TERM: "dumb" },
    input,
  });
}

/**
 * Runs a command on a terminal and returns what it shows. Rejects unless it exits with 0.
 *
 * @param shows what a command that has no end shows; it is ended then
 */
export async function onTerminal(
  command: string,
  directory: string,
  variables: Readonly<Record<string, string>> = {},
  shows?: RegExp,
): Promise<string> {
  await using terminal = startOnTerminal(command, directory, variables);
  if (shows) {
    await terminal.waitForOutput(shows);
    return terminal.stdout();
  }
  const code = await terminal.exited;
  if (code !== 0) throw new Error(`${command} ended with ${code}\n${terminal.stdout()}${terminal.stderr()}`);
  return terminal.stdout();
}
