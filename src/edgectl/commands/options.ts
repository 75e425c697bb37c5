import { type Command, InvalidArgumentError, Option } from "commander";
import type { Clock } from "../../lib/clock.ts";
import { MAX_PAGE_SIZE, MAX_WAIT_FOR_DEVICE_S } from "../../protocol/limits.ts";
import { parseTime } from "../../lib/terminal/time.ts";
import { fetchPages, type Page } from "../api/client.ts";
import { parseImageReference } from "../../protocol/apps/image-reference.ts";
import type { Printer } from "../printer.ts";

/** The argument that names an asset. */
export const ASSET = ["<asset>", "serial number, SIM SID, ICCID or UUID"] as const;

/** The argument that names an app of a device. */
export const APP = [
  "<app>",
  "name of the app; PROJECT/SERVICE for a service of a compose file",
  (text: string): string => text.replace("/", "."),
] as const;

/** `--build-registry`: where the images of services are that a compose file builds without a name. */
export const BUILD_REGISTRY = [
  "--build-registry <prefix>",
  "compose file: where you push the images of services with `build` and no `image`, as PREFIX/PROJECT-SERVICE",
  (text: string): string => {
    const prefix = text.replace(/\/$/, "");
    const reference = parseImageReference(`${prefix}/x`);
    // A path after a host: without one, images would be looked for at docker.io.
    if (reference && prefix.split("/")[0] === reference.registry) return prefix;
    throw new InvalidArgumentError("Write a registry, or a path in one, such as registry.example.com/team.");
  },
] as const;

const DEFAULT_RETRY_S = 300;
const MAX_RETRY_S = 86_400;

/** Adds the options of commands that start a deployment. @param what the request, in the help text of `--detach` */
export function addFollowOptions(command: Command, what: string): Command {
  return command
    .option("-d, --detach", `return as soon as the service has accepted ${what}`)
    .addOption(retryForOption());
}

/** `--timings`: how long the steps took. */
export function timingsOption(): Option {
  return new Option("--timings", "also show how long each step took on the device, and the engine's part of it");
}

/** `--retry-for`: how long to retry after a stream breaks, in seconds. */
export function retryForOption(): Option {
  return new Option("--retry-for <seconds>", "how long to try again after the connection is lost")
    .argParser(wholeNumber(0, MAX_RETRY_S))
    .default(DEFAULT_RETRY_S);
}

/** `--exit-when-waiting`: ends following once only people can let the rollout go on. */
export function exitWhenWaitingOption(): Option {
  return new Option("--exit-when-waiting", "follow it until it ends or waits for people, such as for an approval");
}

/** `--wait-for-device`: how long to wait for a device that is not connected, in seconds. */
export function waitForDeviceOption(): Option {
  return new Option(
    "--wait-for-device <seconds>",
    "if the device is not connected, wait for it instead of failing",
  ).argParser(wholeNumber(0, MAX_WAIT_FOR_DEVICE_S));
}

/** Collects the values of a repeatable option, each parsed with `parse`. */
export function collect<T>(parse: (text: string) => T): (text: string, previous: readonly T[] | undefined) => T[] {
  return (text, previous) => [...(previous ?? []), parse(text)];
}

/** Returns a parser for whole numbers from `min` to `max`, both included. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^(?:\d{1,9}|-[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
    return value;
  };
}

/** Returns a parser for points in time, as Unix seconds. @param hint the error message for any other text */
export function timeParser(clock: Pick<Clock, "now">, hint: string): (text: string) => number {
  return (text) => {
    const time = parseTime(text, clock.now());
    if (time === undefined) throw new InvalidArgumentError(hint);
    return time;
  };
}

/** The options of a paged list, as commander passes them. */
export interface PagingOptions {
  readonly limit?: number;
  readonly cursor?: string;
  readonly all?: boolean;
}

/** Adds `--limit`, `--cursor` and `--all`. */
export function addPagingOptions(command: Command): Command {
  return command
    .option("--limit <n>", `how many at most, 1 to ${MAX_PAGE_SIZE} (50 if not given)`, wholeNumber(1, MAX_PAGE_SIZE))
    .option("--cursor <cursor>", "go on where an earlier list ended")
    .option("--all", "all of them, however many");
}

/** Fetches the page the options select, or all pages. `--all` without `--limit` uses the largest page size. */
export function listPages<T>(
  { limit, cursor, all = false }: PagingOptions,
  fetchPage: (position: {
    readonly limit: number | undefined;
    readonly cursor: string | undefined;
  }) => Promise<Page<T>>,
): Promise<Page<T>> {
  const pageSize = limit ?? (all ? MAX_PAGE_SIZE : undefined);
  return fetchPages((from) => fetchPage({ limit: pageSize, cursor: from }), { cursor, all });
}

/** Says how to get the items that were not fetched, if there are any. @param next cursor of the next page */
export function noteMorePages(printer: Printer, next: string | null): void {
  if (next === null || printer.json) return;
  printer.note(`There are more. All of them: --all. The next ones: --cursor ${next}`);
}
