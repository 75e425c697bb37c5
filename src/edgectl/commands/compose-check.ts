import type { Command } from "commander";
import { createContext } from "../context.ts";
import { usageFailure } from "../failure.ts";
import { readNamedTexts } from "../group-file/named-texts.ts";
import { type GroupFile, readGroupFile } from "../group-file/read-group.ts";
import type { Io } from "../io.ts";
import { checkCompose } from "../runs/check-compose.ts";
import { BUILD_REGISTRY, collect } from "./options.ts";

interface CheckFlags {
  readonly file: readonly string[];
  readonly project?: string;
  readonly mapPorts?: boolean;
  readonly envFile?: readonly string[];
  readonly profile?: readonly string[];
  readonly sharedVolumes?: boolean;
  readonly buildRegistry?: string;
}

export function addComposeCheck(compose: Command, io: Io): void {
  compose
    .command("check")
    .description("say everything that is wrong with a compose file, by line, without a server or a device")
    .requiredOption("-f, --file <file>", "compose file; - for standard input (repeatable)", collect(String))
    .option("--project <name>", "name of the project, in place of the file's")
    .option("--map-ports", "accept ports outside of a device's range, as `edgectl apply --map-ports` does")
    .option("--env-file <file>", "variables, in place of .env (repeatable)", collect(String))
    .option("--shared-volumes", "several services may write to one named volume")
    .option(...BUILD_REGISTRY)
    .option("--profile <name>", "also the services of this profile; * for all (repeatable)", collect(String))
    .addHelpText("after", HELP)
    .action(async (flags: CheckFlags, command: Command) => {
      const { printer } = createContext(io, command);
      const { project, mapPorts = false, envFile: envFiles = [], profile: profiles = [] } = flags;
      const { sharedVolumes = false, buildRegistry } = flags;
      const files = await readNamedTexts(flags.file, io);
      const read = (): GroupFile => {
        const group = readGroupFile(files, { project, envFiles, profiles, sharedVolumes, buildRegistry, env: io.env });
        if (group) return group;
        throw usageFailure(`${files[0].fileName} is no compose file: it has no \`services\`.`, "See docs/compose.md.");
      };
      checkCompose(read, printer, mapPorts);
    });
}

const HELP = `
Checks what \`edgectl apply\` checks on this machine: the files, what they include
and extend, variables, the files that come with the apps, and what an app may
have. What only a device knows, such as free ports and its owner's policy, the
dry run says: edgectl apply ASSET -f FILE --dry-run

A line of the output is FILE:LINE:COLUMN: error|note: MESSAGE. With --json it is
one document: {"ok", "project", "apps", "problems", "notes"}, each problem and
note with "file", "line", "column" and "message". A file that is no YAML is
reported in the same way, with null as its project.

Exit codes: 0 the file can be applied; 2 it cannot, or cannot be read.

Examples:
  edgectl compose check -f compose.yaml
  edgectl compose check -f compose.yaml -f site.yaml --map-ports --json`;
