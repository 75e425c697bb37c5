import type { Command } from "commander";
import { listAgentReleases } from "../api/agent-releases.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderAgentReleases } from "../views/agent-release-view.ts";

export function addAgentReleasesList(releases: Command, io: Io): void {
  releases
    .command("list")
    .description("list the releases of the agent that devices can fetch from the service, the newest addition first")
    .addHelpText("after", HELP)
    .action(async (_options: object, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const list = await listAgentReleases(await connect(context));
      printer.result(list, () => renderAgentReleases(list.agent_releases, printer.theme, printer.width));
    });
}

const HELP = `
Sizes are what a device downloads. Bring a device to one of them with
\`edgectl assets update-agent ASSET --release VERSION\`. The administrator of the
service adds and removes releases, with \`edge-control agent-release\`.`;
