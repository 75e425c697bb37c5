import type { Command } from "commander";
import { drawEach } from "../../lib/terminal/live-screen.ts";
import { isTerminal } from "../../lib/terminal/theme.ts";
import type { Top } from "../local/api.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { readHostUsage } from "./host-usage.ts";
import { ratesBetween, renderTop } from "./top-view.ts";

const HELP = `
Link, load, memory, disk and temperature, and what each app uses: CPU in percent of one processor, memory, and network,
which is "-" for apps on the host's network. Refreshes every two seconds; q or Ctrl-C ends it. The engine is queried only
while this runs.

Examples:
  edge-agent top
  edge-agent top --once --json`;

const REFRESH_INTERVAL_MS = 2_000;
/** Between the two samples of `--once`. */
const SAMPLE_INTERVAL_MS = 1_000;

export function addTop(program: Command, register: Register): void {
  const command = program
    .command("top")
    .description("watch what the apps use")
    .option("--once", "measure once, for a second, and end");
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, _argument, options) => {
    const { printer, io } = context;
    const isLive = isTerminal(io.stdout, io.env);
    if (options["once"] === true || (!isLive && !printer.json)) await showOnce(context);
    else if (printer.json) await showLines(context);
    else await showLive(context);
    return EXIT.ok;
  });
}

function fetchTop({ client }: Context, signal: AbortSignal): Promise<Top> {
  return client.request("GET", "/top", "top", { signal });
}

async function showOnce(context: Context): Promise<void> {
  const { printer, io } = context;
  const before = await fetchTop(context, io.interrupted);
  await pauseAwake(context, SAMPLE_INTERVAL_MS, io.interrupted);
  const now = await fetchTop(context, io.interrupted);
  if (printer.json) printer.document(document(before, now));
  else printer.line(renderTop(now, readHostUsage(), ratesBetween(before, now), printer.theme, printer.width));
}

async function showLines(context: Context): Promise<void> {
  const { interrupted } = context.io;
  let before = await fetchTop(context, interrupted);
  for (;;) {
    await pauseAwake(context, REFRESH_INTERVAL_MS, interrupted);
    const now = await fetchTop(context, interrupted);
    context.printer.jsonLine(document(before, now));
    before = now;
  }
}

async function showLive(context: Context): Promise<void> {
  const { printer, io } = context;
  await drawEach(
    { ...io, theme: printer.theme },
    (signal) => followTop(context, signal),
    ({ before, now }) => renderTop(now, readHostUsage(), ratesBetween(before, now), printer.theme, printer.width),
  );
}

async function* followTop(
  context: Context,
  signal: AbortSignal,
): AsyncGenerator<{ readonly before: Top | undefined; readonly now: Top }> {
  for (let before: Top | undefined; ;) {
    const now = await fetchTop(context, signal);
    yield { before, now };
    await pauseAwake(context, before ? REFRESH_INTERVAL_MS : SAMPLE_INTERVAL_MS, signal);
    before = now;
  }
}

function document(before: Top, now: Top) {
  return { link: now.link, disk: now.disk, machine: readHostUsage(), apps: ratesBetween(before, now) };
}

/** Sleeps and keeps the process alive, which the clock's timers do not. */
async function pauseAwake({ io }: Context, ms: number, signal: AbortSignal): Promise<void> {
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  try {
    await io.clock.sleep(ms, signal);
  } finally {
    clearInterval(keepAlive);
  }
}
