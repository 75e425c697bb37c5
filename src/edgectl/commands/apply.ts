import type { Command } from "commander";
import { parseDesiredApp } from "../apply/read-app-file.ts";
import { applyApp } from "../runs/apply-app.ts";
import { connect, type Context, createContext } from "../context.ts";
import { type ExecutionOptions, readExecutionOptions } from "../deploy/execution-options.ts";
import type { FollowFlags } from "../runs/run-deployment.ts";
import { usageFailure } from "../failure.ts";
import { type GroupFile, readGroupFile } from "../group-file/read-group.ts";
import { type NamedTexts, readNamedTexts } from "../group-file/named-texts.ts";
import { applyGroup, checkGroup, type GroupOptions } from "../runs/apply-group.ts";
import type { Io } from "../io.ts";
import { addExecutionOptions } from "./app-options.ts";
import { addFollowOptions, ASSET, BUILD_REGISTRY, collect } from "./options.ts";

interface ApplyFlags extends ExecutionOptions, FollowFlags {
  readonly file: readonly string[];
  readonly yes?: boolean;
  readonly reveal?: boolean;
  readonly prune?: boolean;
  readonly adopt?: boolean;
  readonly keep?: boolean;
  readonly mapPorts?: boolean;
  readonly project?: string;
  readonly envFile?: readonly string[];
  readonly profile?: readonly string[];
  readonly sharedVolumes?: boolean;
  readonly buildRegistry?: string;
}

export function addApply(program: Command, io: Io): void {
  const apply = program
    .command("apply")
    .description("make one or several apps as a file says: show the difference, ask, change what differs")
    .argument(...ASSET)
    .requiredOption(
      "-f, --file <file>",
      "one app, several, or a compose file, as YAML or JSON; - for standard input (repeatable for compose files)",
      collect(String),
    )
    .option("-y, --yes", "do not ask")
    .option("--reveal", "one app: show the values of variables that are not declared secrets")
    .option("--prune", "several apps: remove those of the same project that are no longer in the file")
    .option("--adopt", "several apps: take over installed ones that belong to another project or to none")
    .option("--keep", "several apps: if one fails, leave those changed before it as they are")
    .option("--project <name>", "several apps: name of the project, in place of the file's")
    .option("--map-ports", "several apps: choose ports of the device for those outside its range")
    .option("--shared-volumes", "compose file: several services may write to one named volume")
    .option(...BUILD_REGISTRY)
    .option("--env-file <file>", "compose file: variables, in place of .env (repeatable)", collect(String))
    .option(
      "--profile <name>",
      "compose file: also the services of this profile; * for all (repeatable)",
      collect(String),
    );
  addFollowOptions(addExecutionOptions(apply), "the deployment")
    .addHelpText("after", HELP)
    .action(async (asset: string, flags: ApplyFlags, command: Command) => {
      const context = createContext(io, command);
      const { yes = false, dryRun = false, reveal = false } = flags;
      if (!yes && !dryRun) requireTerminal(context, flags.file);
      const files = await readNamedTexts(flags.file, io);
      const [{ text, fileName }] = files;
      const group = readGroup(files, flags, io);
      if (group) {
        const options = await readGroupOptions(flags, io);
        checkGroup(group, options);
        await applyGroup(context, await connect(context), asset, group, options);
        return;
      }
      refuseGroupFlags(flags, fileName);
      const { spec, options } = parseDesiredApp(text, fileName);
      const execution = await readExecutionOptions(flags, io);
      const desired = { spec, options: { ...options, ...execution } };
      const client = await connect(context);
      await applyApp(context, client, asset, desired, { ...flags, yes, dryRun, showValues: reveal });
    });
}

function readGroup(files: NamedTexts, flags: ApplyFlags, io: Io): GroupFile | undefined {
  const { project, envFile: envFiles = [], profile: profiles = [], sharedVolumes = false, buildRegistry } = flags;
  return readGroupFile(files, { project, envFiles, profiles, sharedVolumes, buildRegistry, env: io.env });
}

async function readGroupOptions(flags: ApplyFlags, io: Io): Promise<GroupOptions> {
  const { yes = false, dryRun = false, prune = false, adopt = false, keep = false, mapPorts = false } = flags;
  const execution = await readExecutionOptions(flags, io);
  return { ...flags, yes, dryRun, prune, adopt, keep, mapPorts, execution };
}

function refuseGroupFlags(flags: ApplyFlags, fileName: string): void {
  const given = GROUP_FLAGS.filter((name) => flags[name] !== undefined);
  if (given.length === 0) return;
  const names = given.map((name) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
  throw usageFailure(
    `${fileName} describes one app; ${names.join(", ")} is for several.`,
    "Write them as {name: PROJECT, apps: {NAME: {…}}}, or give a compose file.",
  );
}

const GROUP_FLAGS = [
  "prune",
  "adopt",
  "keep",
  "project",
  "mapPorts",
  "envFile",
  "profile",
  "sharedVolumes",
  "buildRegistry",
] as const satisfies (keyof ApplyFlags)[];

/** Standard input must be free for the answer. */
function requireTerminal({ io }: Context, files: readonly string[]): void {
  if (io.stdin.isTTY && !files.includes("-")) return;
  throw usageFailure(
    "There is no terminal to ask on whether to apply the changes.",
    "Give --yes to apply them without asking, or --dry-run to see them.",
  );
}

const HELP = `
The file replaces the app: a field that is not in it gets its default, so what
the app has beyond the file is taken away. Where nothing differs, nothing is
sent. \`edgectl apps update\` changes single fields instead.

One app: the file is the request as the API takes it, such as
{"name": "web", "image": "nginx:1.29"}. The device is asked for the app as it is
now. Values of variables are compared and not shown; --reveal shows those that
are not declared secrets.

Several apps, as one deployment: {name: PROJECT, apps: {NAME: {image: …,
depends_on: {OTHER: healthy}}}}. The device compares them, changes what differs
in the order of depends_on, and ends with one result. If an app fails, all of
them become what they were before, unless --keep is given. A file of an app may
be given as \`from: ./FILE\` in place of its content. Apps of the project that
are no longer in the file are named, and stay unless --prune is given. A renamed
app is a new one: with --prune it takes over the volumes that it names.

A compose file (with \`services\`) is converted. What cannot be converted is
refused, line by line, with what to use instead. Variables come from this shell
and from .env beside the file. Files and directories named by a relative path
come with the app. Volumes and networks get the project's name before theirs.
With x-edge-secrets: [NAME] a service declares variables that are secrets. What
becomes of each key is in docs/compose.md. Several -f are merged as compose
merges them. \`edgectl compose check\` finds what is wrong without a device.

The ports of a device are 30000 to 32767. With --map-ports each port outside
gets one of them, the same at every repetition, shown before anything changes.

An image is not looked up again while its name stays the same. For a newer
image under the same tag: edgectl apps update ASSET APP --image IMAGE

Exit codes: 0 applied, or nothing differs, or a dry run that found no obstacle;
1 refused, failed, or the answer was no; 2 the file or the command line is
wrong, or there is no terminal to ask on. All others as for every command.

Examples:
  edgectl apply GW-0001 -f app.json
  edgectl apply GW-0001 -f edge.yaml --dry-run
  edgectl apply GW-0001 -f edge.yaml --prune --yes
  edgectl apply GW-0001 -f compose.yaml --map-ports
  edgectl apply GW-0001 -f compose.yaml -f site.yaml --profile debug`;
