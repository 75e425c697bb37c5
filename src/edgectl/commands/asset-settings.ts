import { type Command, InvalidArgumentError } from "commander";
import { explainTagKey, isTagValue } from "../../protocol/fleets/tags.ts";
import { VARIABLE_NAME } from "../../protocol/values/variables.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { changeTags, changeVariables, getVariables, holdAsset, releaseAsset } from "../api/assets.ts";
import { connect, createContext } from "../context.ts";
import { parseEnv } from "../deploy/parse-options.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { renderTags, renderVariables } from "../views/asset-view.ts";
import { ASSET, collect } from "./options.ts";

export function addAssetsTag(assets: Command, io: Io): void {
  assets
    .command("tag")
    .description("set tags of an asset, or remove them")
    .argument(...ASSET)
    .argument("<tags...>", "KEY=VALUE sets a tag, KEY- removes one")
    .addHelpText("after", "\nExample:\n  edgectl assets tag GW-0001 role=kiosk region=north beta-")
    .action(async (asset: string, given: string[], _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const changes = parseTags(given);
      const tags = await changeTags(await connect(context), asset, changes);
      context.printer.result(tags, () => renderTags(tags, context.printer.theme));
    });
}

/** Parses `KEY=VALUE` and `KEY-`. Errors: exit code 2. */
export function parseTags(given: readonly string[]): Record<string, string | null> {
  const changes = given.map((text): [string, string | null] => {
    const equals = text.indexOf("=");
    if (equals === -1 && !text.endsWith("-"))
      throw usageFailure(`${text} is no tag.`, "Write KEY=VALUE, or KEY- to remove one.");
    const key = equals === -1 ? text.slice(0, -1) : text.slice(0, equals);
    const value = equals === -1 ? null : text.slice(equals + 1);
    const problem = explainTagKey(key);
    if (problem !== undefined) throw usageFailure(`The key "${key}" ${problem}.`);
    if (value !== null && !isTagValue(value)) {
      throw usageFailure(`The value of ${key} must be empty or up to 63 letters, digits, '.', '_' or '-'.`);
    }
    return [key, value];
  });
  const keys = changes.map(([key]) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw usageFailure(`The tag ${twice} is given twice.`);
  return Object.fromEntries(changes);
}

export function addAssetsHold(assets: Command, io: Io): void {
  assets
    .command("hold")
    .description("let no fleet change an asset; commands of people still reach it")
    .argument(...ASSET)
    .requiredOption("--reason <text>", "why, for people")
    .option("--for <duration>", "how long, such as 90m, 24h or 7d (until it is released if not given)", parseDuration)
    .action(async (asset: string, options: { readonly reason: string; readonly for?: number }, command: Command) => {
      const context = createContext(io, command);
      const { reason, for: seconds } = options;
      const until = seconds === undefined ? undefined : Math.floor(io.clock.now() / 1000) + seconds;
      const held = await holdAsset(await connect(context), asset, { reason, ...(until !== undefined && { until }) });
      const end = held.until ?? undefined;
      const when = end === undefined ? "until it is released" : `until ${formatTime(end)} UTC`;
      context.printer.result(held, () => `${sanitizeLine(asset)} is held ${when}.`);
    });
}

export function addAssetsRelease(assets: Command, io: Io): void {
  assets
    .command("release")
    .description("end the hold of an asset")
    .argument(...ASSET)
    .action(async (asset: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      await releaseAsset(await connect(context), asset);
      context.printer.result({ hold: null }, () => `${sanitizeLine(asset)} is not held.`);
    });
}

export function addVariablesList(variables: Command, io: Io): void {
  variables
    .command("list")
    .description("list the variables of an asset; secret values are never shown")
    .argument(...ASSET)
    .option("--reveal", "show the values of those that are not secret")
    .action(async (asset: string, { reveal = false }: { readonly reveal?: boolean }, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const found = await getVariables(await connect(context), asset, reveal);
      printer.result(found, () => renderVariables(found, reveal, printer.theme, printer.width));
    });
}

interface SetOptions {
  readonly secret?: readonly string[];
  readonly secretStdin?: string;
}

export function addVariablesSet(variables: Command, io: Io): void {
  variables
    .command("set")
    .description("set variables of an asset, for ${NAME} in values of `environments` of fleets")
    .argument(...ASSET)
    .argument("[variables...]", "NAME=VALUE, or NAME for its value in this shell")
    .option("--secret <name>", "a secret, with its value in this shell (repeatable)", collect(String))
    .option("--secret-stdin <name>", "a secret, with its value from standard input")
    .addHelpText("after", SET_HELP)
    .action(async (asset: string, given: string[], options: SetOptions, command: Command) => {
      const context = createContext(io, command);
      const changes = await readVariables(given, options, io);
      const after = await changeVariables(await connect(context), asset, changes);
      const names = Object.keys(changes).join(", ");
      context.printer.result(after, () => sanitizeLine(`Set: ${names}.`));
    });
}

async function readVariables(given: readonly string[], { secret = [], secretStdin }: SetOptions, io: Io) {
  const withValue = secret.find((text) => text.includes("="));
  if (withValue !== undefined) {
    throw usageFailure(
      "--secret takes the name alone: a value on the command line is in the process list.",
      "Set it in this shell, or give it with --secret-stdin NAME.",
    );
  }
  const plain = given.map((text) => ({ ...parseEnv(text, io.env), secret: false }));
  const secrets = secret.map((name) => ({ ...parseEnv(name, io.env), secret: true }));
  const entries = [...plain, ...secrets];
  if (secretStdin !== undefined) {
    const value = (await io.stdin.readAll()).replace(/\r?\n$/, "");
    if (value === "") throw usageFailure(`Standard input has no value for ${secretStdin}.`);
    entries.push({ key: secretStdin, value, secret: true });
  }
  if (entries.length === 0) throw usageFailure("No variable to set is given.", "Write NAME=VALUE.");
  requireNames(entries.map(({ key }) => key));
  return Object.fromEntries(entries.map(({ key, value = "", secret: isSecret }) => [key, { value, secret: isSecret }]));
}

export function addVariablesUnset(variables: Command, io: Io): void {
  variables
    .command("unset")
    .description("remove variables of an asset")
    .argument(...ASSET)
    .argument("<names...>", "names of the variables")
    .action(async (asset: string, names: string[], _options: unknown, command: Command) => {
      const context = createContext(io, command);
      requireNames(names);
      const changes = Object.fromEntries(names.map((name) => [name, null]));
      const after = await changeVariables(await connect(context), asset, changes);
      context.printer.result(after, () => sanitizeLine(`Not set any more: ${names.join(", ")}.`));
    });
}

function requireNames(names: readonly string[]): void {
  const wrong = names.find((name) => !VARIABLE_NAME.test(name));
  if (wrong !== undefined) {
    throw usageFailure(`"${wrong}" is no name of a variable.`, "Use up to 64 letters, digits or '_', no digit first.");
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw usageFailure(`${twice} is given twice.`);
}

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };

/** Parses `90m`, `24h` or `7d`. @returns seconds */
export function parseDuration(text: string): number {
  const [, number, unit = ""] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  const seconds = Number(number) * (SECONDS[unit] ?? Number.NaN);
  if (Number.isNaN(seconds)) throw new InvalidArgumentError("Give a duration such as 90m, 24h or 7d.");
  return seconds;
}

const SET_HELP = `
Examples:
  edgectl variables set GW-0001 SITE_ID=pump-7
  API_TOKEN=… edgectl variables set GW-0001 --secret API_TOKEN
  edgectl variables set GW-0001 --secret-stdin API_TOKEN < token.txt`;
