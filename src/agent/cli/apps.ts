import type { Command } from "commander";
import { type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { renderApps } from "./status-view.ts";

const HELP = `
Exit codes: 0 all apps run, 1 at least one does not, 3 the agent is not running.`;

export function addApps(program: Command, register: Register): void {
  const command = program.command("apps").description("list the apps with their state and ports");
  register(withCommonOptions(command).addHelpText("after", HELP), async ({ client, printer, io }) => {
    const { device } = await client.request("GET", "/status", "status", { signal: io.interrupted });
    if (printer.json) printer.document({ apps: device.apps });
    else printer.line(renderApps(device.apps, printer.theme, printer.width));
    return device.apps.some(({ trouble }) => trouble !== null) ? EXIT.wrong : EXIT.ok;
  });
}
