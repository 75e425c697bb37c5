import { type Command, Option } from "commander";
import { appsPath, getApp } from "../api/apps.ts";
import { connect, createContext } from "../context.ts";
import {
  type AppFlags,
  type AppListField,
  type AppRequest,
  buildAppRequest,
  LIST_FIELDS,
  secretsWithoutValue,
  withoutSecretValues,
} from "../deploy/app-request.ts";
import { type AppOptions, readAppFile, readAppFlags } from "../deploy/read-app.ts";
import { type ExecutionOptions, readExecutionOptions } from "../deploy/execution-options.ts";
import { type FollowFlags, requestDeployment } from "../deploy/run-deployment.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { addAppOptions, addExecutionOptions } from "./app-options.ts";
import { addFollowOptions, APP, ASSET, collect } from "./options.ts";

/** The names for `--clear`, with the field of the request and its cleared value. */
const CLEARED: Readonly<Record<string, readonly [field: string, value: unknown]>> = {
  env: ["environments", []],
  ports: ["ports", []],
  volumes: ["volumes", []],
  devices: ["devices", null],
  command: ["command", null],
  cpus: ["cpu_limit", null],
  memory: ["memory_limit", null],
  health: ["healthcheck", null],
  restart: ["restart_policy", null],
  "healthy-within": ["health_timeout_s", null],
  pull: ["pull", null],
};

interface UpdateOptions extends AppOptions, ExecutionOptions, FollowFlags {
  readonly clear?: readonly string[];
}

export function addAppsUpdate(apps: Command, io: Io): void {
  const update = apps
    .command("update")
    .description("change an app; if the new version does not hold, the old one comes back")
    .argument(...ASSET)
    .argument(...APP)
    .argument("[args...]", "arguments in place of the image's own command; write -- before them")
    .option("-f, --file <file>", "the change as JSON, as the API takes it; - for standard input");
  addExecutionOptions(addAppOptions(update)).addOption(
    new Option("--clear <what>", "take away what the app has (repeatable)")
      .choices(Object.keys(CLEARED))
      .argParser(collect(String)),
  );
  addFollowOptions(update, "the update")
    .addHelpText("after", HELP)
    .action(
      async (asset: string, name: string, args: string[], options: UpdateOptions, command: Command): Promise<void> => {
        const context = createContext(io, command);
        const file = options.file === undefined ? {} : await readAppFile(options.file, io);
        const flags = await readAppFlags(options, args, io);
        const base = { ...file, ...cleared(options.clear ?? []) };
        const execution = await readExecutionOptions(options, io);
        const client = await connect(context);
        const missing = listsToExtend(flags, base);
        const current = missing.length > 0 ? (await getApp(client, asset, name, true)).spec : {};
        const kept = Object.fromEntries(missing.map((list) => [list, withoutSecretValues(current[list] ?? [])]));
        const body = { ...buildAppRequest({ ...kept, ...base }, flags), ...execution };
        for (const key of secretsWithoutValue(body).filter((name) => isGiven(name, flags))) {
          context.printer.note(`${key} is not set in this shell: it keeps the value it has on the device.`);
        }
        const query = { dry_run: options.dryRun ? "true" : undefined };
        const request = { method: "PATCH", path: appsPath(asset, name), query, body } as const;
        await requestDeployment(context, client, asset, request, options);
      },
    );
}

function isGiven(name: string, { environments }: AppFlags): boolean {
  return environments.some(({ key }) => key === name);
}

function cleared(names: readonly string[]): AppRequest {
  return Object.fromEntries(
    names.map((name) => {
      const entry = CLEARED[name];
      if (!entry) throw usageFailure(`"${name}" cannot be cleared.`, `Choose from ${Object.keys(CLEARED).join(", ")}.`);
      return entry;
    }),
  );
}

/** Returns the lists that only the flags extend. They must be sent whole: the service replaces lists. */
function listsToExtend(flags: AppFlags, base: AppRequest): AppListField[] {
  return LIST_FIELDS.filter((list) => flags[list].length > 0 && !(list in base));
}

const HELP = `
What is not given stays as it is. A variable, port, volume or device replaces
the app's entry of the same variable, container port or container path; others
are added to it. To set all anew: --clear env --env A=1.

A variable that is a secret stays one. --secret-env KEY takes this shell's
value; if the shell has none, KEY becomes a secret and keeps the value it has on
the device.

The old version runs until the new one is ready to start.

Examples:
  edgectl apps update GW-0001 web --image nginx:1.30
  edgectl apps update GW-0001 web --env LOG_LEVEL=debug --dry-run
  edgectl apps update GW-0001 web --secret-env DB_PASSWORD
  edgectl apps update GW-0001 web --clear ports --port 30090:80`;
