import type { Command } from "commander";
import { readableLine } from "../../lib/log/readable-line.ts";
import { logLineSchema } from "../local/api.ts";
import type { Register } from "./commands.ts";
import { withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { parseCount } from "./parse-count.ts";

const HELP = `
Without APP: what the agent itself has logged since it was started, the last 500 lines at most.
Values of an app's environment are masked in its log.

Examples:
  edge-agent logs node-red -f
  edge-agent logs --lines 20`;

export function addLogs(program: Command, register: Register): void {
  const command = program
    .command("logs [app]")
    .description("show the output of an app, or the agent's own log")
    .option("-f, --follow", "go on with what comes, until Ctrl-C")
    .option("-n, --lines <number>", "how many of the last lines", parseCount, 100);
  register(withCommonOptions(command).addHelpText("after", HELP), async ({ client, printer, io }, app, options) => {
    const query = new URLSearchParams({
      lines: String(options["lines"]),
      ...(options["follow"] === true && { follow: "" }),
    });
    const path = app === undefined ? "/log" : `/apps/${encodeURIComponent(app)}/log`;
    for await (const { line } of client.stream("GET", `${path}?${query.toString()}`, logLineSchema, {
      signal: io.interrupted,
    })) {
      if (printer.json) printer.jsonLine({ line });
      else printer.raw(app === undefined ? readableLine(line) : line);
    }
    return EXIT.ok;
  });
}
