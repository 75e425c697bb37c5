import type { Command } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { addRelease, removeRelease } from "../releases/add-release.ts";
import { readReleaseKeys } from "../releases/release-keys.ts";
import { type AgentRelease, MAX_AGENT_RELEASES } from "../store/agent-releases.ts";
import {
  type AdministrationOptions,
  formatTable,
  formatTimeOrNever,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

interface AddOptions extends AdministrationOptions {
  readonly key?: readonly string[];
}

/** `agent-release add`, `agent-release list` and `agent-release remove`. */
export function addAgentReleaseCommands(program: Command, context: CliContext): void {
  const releases = program
    .command("agent-release")
    .description("manage the releases of edge-agent that devices can fetch from the service");
  addAdd(releases, context);
  addList(releases, context);
  addRemove(releases, context);
}

function addAdd(releases: Command, context: CliContext): void {
  withAdministrationOptions(releases.command("add <layout>"))
    .description("check the OCI layout of a signed release, and add it for the devices of all accounts")
    .option("--key <file...>", "public keys of those who may sign it, as PEM; default: those of the service's build")
    .action((layout: string, options: AddOptions) =>
      runAdministration(
        context,
        options,
        async ({ agentReleases: store }) => {
          const added = await addRelease({
            store,
            folder: layout,
            keys: readReleaseKeys(options.key ?? []),
            now: unixNow(context.clock),
            auditOf: ({ version, digest }) =>
              auditEntry(commandOrigin(""), context.clock, {
                action: "agent_release.added",
                subject: { kind: "agent_release", id: version },
                details: { digest },
              }),
          });
          const { release, result } = added;
          if (result === "exists")
            throw new ServiceCommandError(`release ${release.version} is there already, with ${release.digest}`);
          if (result === "too_many")
            throw new ServiceCommandError(
              `there are ${MAX_AGENT_RELEASES} releases already: remove one with edge-control agent-release remove`,
            );
          if (result === "incomplete")
            throw new ServiceCommandError("another command has removed parts of the release meanwhile: add it again");
          return toJson(release);
        },
        ({ version, digest }) => `added release ${version}, ${digest}`,
      ),
    );
}

function addList(releases: Command, context: CliContext): void {
  withAdministrationOptions(releases.command("list"))
    .description("list the releases, the last one that was added first")
    .action((options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        async ({ agentReleases }) => (await agentReleases.listReleases()).map(toJson),
        (listed) =>
          formatTable([
            ["VERSION", "ADDED", "ARCHITECTURES", "DIGEST"],
            ...listed.map(({ version, added_at, images, digest }) => [
              version,
              formatTimeOrNever(added_at),
              images.map(({ architecture, bytes }) => `${architecture} ${formatBytes(bytes)}`).join(", "),
              digest,
            ]),
          ]),
      ),
    );
}

function addRemove(releases: Command, context: CliContext): void {
  withAdministrationOptions(releases.command("remove <version>"))
    .description("remove a release; devices that run it keep it, and one that fetches it now fails")
    .action((version: string, options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        async ({ agentReleases }) => {
          const entry = auditEntry(commandOrigin(""), context.clock, {
            action: "agent_release.removed",
            subject: { kind: "agent_release", id: version },
          });
          if (!(await removeRelease(agentReleases, version, entry)))
            throw new ServiceCommandError(`there is no release ${version}; see \`edge-control agent-release list\``);
          return { removed: version };
        },
        ({ removed }) => `removed release ${removed}`,
      ),
    );
}

function toJson({ version, digest, images, addedAt }: AgentRelease) {
  return {
    version,
    digest,
    images: images.map(({ architecture, bytes, unpackedBytes }) => {
      return { architecture, bytes, unpacked_bytes: unpackedBytes };
    }),
    added_at: addedAt,
  };
}
