import type { Command } from "commander";
import { happeningSchema } from "../local/api.ts";
import type { Register } from "./commands.ts";
import { withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { printHappening } from "./happening-view.ts";

const HELP = `
Deployments with their steps, repairs and restarts, the oldest first. Times are UTC by the device's clock;
"?" stands where the device was rebooted in between.

Examples:
  edge-agent events -f
  edge-agent events --entries 100`;

export function addEvents(program: Command, register: Register): void {
  const command = program
    .command("events")
    .description("what happened to the apps: deployments with their steps, repairs, restarts")
    .option("-f, --follow", "go on with what comes, until Ctrl-C")
    .option("-n, --entries <number>", "how many of the last deployments and repairs", "20");
  register(
    withCommonOptions(command).addHelpText("after", HELP),
    async ({ client, printer, io }, _argument, options) => {
      const follow = options["follow"] === true;
      const query = new URLSearchParams({ entries: String(options["entries"]), ...(follow && { follow: "" }) });
      let count = 0;
      for await (const happening of client.stream("GET", `/events?${query.toString()}`, happeningSchema, {
        signal: io.interrupted,
      })) {
        count++;
        if (printer.json) printer.jsonLine(happening);
        else printHappening(printer, happening);
      }
      if (count === 0 && !printer.json) printer.line("Nothing has happened yet.");
      return EXIT.ok;
    },
  );
}
