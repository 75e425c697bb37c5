import { type Command, InvalidArgumentError } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import type { ApiClient } from "../api/client.ts";
import { type AccountEvent, accountEvents } from "../api/events.ts";
import { askedPauseMs, isPassing, NetworkFailure } from "../api/network-failure.ts";
import { connect, type Context, createContext } from "../context.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { retryForOption } from "./options.ts";

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

interface EventsOptions {
  readonly follow?: boolean;
  readonly after?: string;
  readonly retryFor: number;
}

export function addEvents(program: Command, io: Io): void {
  program
    .command("events")
    .description("show what happens in your account: devices, deployments, assets, SIMs, users and keys")
    .option("-f, --follow", "go on until Ctrl-C, also after the connection was lost")
    .option("--after <id>", "begin after the event with this id; events are kept for 24 hours", parseId)
    .addOption(retryForOption().default(Infinity, "no limit"))
    .action(async (options: EventsOptions, command: Command) => {
      const context = createContext(io, command);
      const { follow = false, after, retryFor } = options;
      if (!follow && after === undefined)
        throw usageFailure("Nothing to show is given.", "Give --follow, or --after ID for the events since that one.");
      const client = await connect(context);
      if (follow) await followEvents(context, client, after, retryFor);
      else await showSince(context, client, after ?? "0");
    });
}

/**
 * Shows the events after this one, up to the last that there is now. The service may end a stream earlier, such as when it is
 * restarted: the rest is asked for then.
 */
async function showSince(context: Context, client: ApiClient, after: string): Promise<void> {
  const last = await findLast(context, client);
  for (let from = after; BigInt(from) < last;) {
    const shown = await showPart(context, client, from, last);
    if (shown === from) throw endedEarly(client, `Go on with --after ${from}.`);
    from = shown;
  }
}

/** Returns the id of the last event that there is now. */
async function findLast({ io }: Context, client: ApiClient): Promise<bigint> {
  for await (const { type, id } of accountEvents(client, undefined, io.clock, io.interrupted))
    if (type === "hello" && id !== undefined) return BigInt(id);
  throw endedEarly(client);
}

/** Shows the events of one stream. Returns the id of the last one that it had. */
async function showPart(context: Context, client: ApiClient, after: string, last: bigint): Promise<string> {
  const { clock, interrupted } = context.io;
  let shown = after;
  for await (const event of accountEvents(client, after, clock, interrupted)) {
    show(context, event);
    shown = event.id ?? shown;
    if (BigInt(shown) >= last) break;
  }
  return shown;
}

function endedEarly({ baseUrl }: ApiClient, hint?: string): NetworkFailure {
  return new NetworkFailure(baseUrl, "it ended the stream before the last event", {
    maybeSent: true,
    ...(hint !== undefined && { hint }),
  });
}

/**
 * Shows events until it is interrupted. Whatever may pass is waited for, with pauses that grow; a refusal is final. Says once
 * that the connection is lost, however often it is tried.
 */
async function followEvents(
  context: Context,
  client: ApiClient,
  from: string | undefined,
  retryForS: number,
): Promise<void> {
  const { io, printer } = context;
  const { clock, interrupted } = io;
  let after = from;
  let pauseMs = FIRST_PAUSE_MS;
  let lostAt: number | undefined;
  let isSaid = false;
  for (;;) {
    let askedMs = 0;
    try {
      for await (const event of accountEvents(client, after, clock, interrupted)) {
        if (isSaid) printer.note("Connected again.");
        isSaid = false;
        lostAt = undefined;
        pauseMs = FIRST_PAUSE_MS;
        after = event.id ?? after;
        show(context, event);
      }
    } catch (error) {
      const isTimeUp = retryForS === 0 || (lostAt !== undefined && clock.monotonic() - lostAt >= retryForS * 1000);
      if (!isPassing(error) || isTimeUp) throw error;
      if (!isSaid) printer.note(`Connection lost; trying again. ${error.message}`);
      isSaid = true;
      askedMs = askedPauseMs(error);
    }
    // The service ends streams when it is restarted.
    lostAt ??= clock.monotonic();
    await clock.sleep(Math.max(pauseMs, askedMs), interrupted);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
  }
}

function show({ printer }: Context, event: AccountEvent): void {
  if (printer.json) {
    printer.jsonLine(event);
    return;
  }
  const { type, id, timestamp, ...facts } = event;
  if (type === "hello") return;
  if (type === "reset") {
    printer.note("Earlier events are no longer kept: fetch again what you know of the account.");
    return;
  }
  const time = timestamp === undefined ? "-" : formatTime(timestamp);
  const parts = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  printer.line(sanitizeLine([time, id ?? "-", type, ...parts].join("  ")));
}

function parseId(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new InvalidArgumentError("Give the id of an event: a whole number.");
}
