import type { Command } from "commander";
import { listAgentReleases } from "../api/agent-releases.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderAgentReleases } from "../views/agent-release-view.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { usageFailure } from "../failure.ts";
import { pushRelease, readReleaseFolder } from "../registry/push-release.ts";
import { openSessions, type RegistryOptions } from "../registry/session.ts";
import { REGISTRY_HELP, registryOptions } from "./registry-options.ts";

export function addAgentReleasesList(releases: Command, io: Io): void {
  releases
    .command("list")
    .description("list the releases of the agent that devices can fetch from the service, the newest addition first")
    .addHelpText("after", LIST_HELP)
    .action(async (_options: object, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const list = await listAgentReleases(await connect(context));
      printer.result(list, () => renderAgentReleases(list.agent_releases, printer.theme, printer.width));
    });
}

const LIST_HELP = `
Sizes are what a device downloads. Bring a device to one of them with
\`edgectl assets update-agent ASSET --release VERSION\`. The administrator of the
service adds and removes releases, with \`edge-control agent-release\`.`;

export function addAgentReleasesPush(releases: Command, io: Io): void {
  registryOptions(releases.command("push"))
    .description(
      "bring a signed release of the agent to a registry, with its signature, for devices to fetch from there",
    )
    .argument("<folder>", "the release, as `npm run package -- --sign KEY.pem` has written it: edge-agent_VERSION.oci")
    .argument("<image>", "where to: REGISTRY/NAME, tagged with the version, or REGISTRY/NAME:TAG")
    .addHelpText("after", `${REGISTRY_HELP}${PUSH_HELP}`)
    .action(async (folder: string, reference: string, options: RegistryOptions, command: Command) => {
      const { printer } = createContext(io, command);
      const release = readReleaseFolder(folder);
      const [session] = await openSessions([reference], options, io);
      if (!session) throw new TypeError("there is a session for each reference");
      if (session.address.digest !== undefined)
        throw usageFailure("A release is pushed under a tag, not a digest.", "Leave the digest out.");
      const pushed = await pushRelease(session, folder, release, (architecture, bytes) => {
        if (!printer.json)
          printer.note(`Pushing the release for ${sanitizeLine(architecture)}, ${formatBytes(bytes)}.`);
      });
      printer.result(pushed, () => {
        const { version, image, digest } = pushed;
        const where = sanitizeLine(image);
        return `Release ${version} is at ${where}, ${digest}.\nTo update a device:\n  edgectl assets update-agent ASSET --image ${where}`;
      });
    });
}

const PUSH_HELP = `

What the registry has already is not sent again, so a push that was interrupted
is repeated. Digests are checked before anything is sent; who has signed the
release is judged by each device, which has the keys.`;
