import type { Command } from "commander";
import type { Activity } from "../local/api.ts";
import { DaemonUnavailableError } from "../local/client.ts";
import { toActivities } from "../local/activities.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { printActivity } from "./activity-view.ts";
import { parseCount } from "./common-options.ts";

const HELP = `
Deployments with their steps, repairs and restarts, the oldest first. Times are UTC by the device's clock, and "?" if
unknown, as after a reboot in between. While the agent is not running: what it has stored.

Examples:
  edge-agent events -f
  edge-agent events --entries 100`;

export function addEvents(program: Command, register: Register): void {
  const command = program
    .command("events")
    .description("what happened to the apps: deployments with their steps, repairs, restarts")
    .option("-f, --follow", "continue with new entries, until Ctrl-C")
    .option("-n, --entries <number>", "number of past deployments and repairs", parseCount, 20);
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, _argument, options) => {
    const { printer } = context;
    const entries = Number(options["entries"]);
    const follow = options["follow"] === true;
    let count = 0;
    const show = (activity: Activity): void => {
      count++;
      if (printer.json) printer.jsonLine(activity);
      else printActivity(printer, activity);
    };
    try {
      for await (const activity of fromDaemon(context, entries, follow)) show(activity);
    } catch (error) {
      if (follow || !(error instanceof DaemonUnavailableError) || !error.isDown) throw error;
      for (const activity of await fromStore(context, entries, error)) show(activity);
      throw error;
    }
    if (count === 0 && !printer.json) printer.line("Nothing has happened yet.");
    return EXIT.ok;
  });
}

function fromDaemon({ client, io }: Context, entries: number, follow: boolean): AsyncGenerator<Activity> {
  const query = new URLSearchParams({ entries: String(entries), ...(follow && { follow: "" }) });
  return client.stream("GET", `/events?${query.toString()}`, "activity", { signal: io.interrupted });
}

/** Reads the activities from the store while the daemon is not running. Throws `down` if it cannot be read. */
async function fromStore(
  { readConfig, io }: Context,
  entries: number,
  down: DaemonUnavailableError,
): Promise<Activity[]> {
  const config = await readConfig();
  if (config instanceof Error) throw down;
  try {
    using store = await io.device.openReader(config.state_dir);
    return store.history(entries).flatMap(toActivities);
  } catch {
    throw down;
  }
}
