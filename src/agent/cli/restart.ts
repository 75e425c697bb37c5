import type { Command } from "commander";
import { z } from "zod";
import type { Register } from "./commands.ts";
import { withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";

const HELP = `
Example:
  edge-agent restart node-red`;

export function addRestart(program: Command, register: Register): void {
  const command = program.command("restart <app>").description("stop an app, 10 s at most, and start it again");
  register(withCommonOptions(command).addHelpText("after", HELP), async ({ client, printer, io }, app = "") => {
    const path = `/apps/${encodeURIComponent(app)}/restart`;
    await client.ask("POST", path, z.object({}), { signal: io.interrupted });
    if (printer.json) printer.document({ restarted: app });
    else printer.raw(`${app} was restarted.`);
    return EXIT.ok;
  });
}
