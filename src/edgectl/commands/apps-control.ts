import { type Command, Option } from "commander";
import type { DeploymentRequest } from "../api/deployments.ts";
import { getApp } from "../api/apps.ts";
import type { ApiClient } from "../api/client.ts";
import { requestOf } from "../api/request.ts";
import { connect, type Context, createContext } from "../context.ts";
import { type FollowFlags, requestDeployment } from "../runs/run-deployment.ts";
import type { Io } from "../io.ts";
import { addFollowOptions, APP, ASSET, collect, timingsOption, waitForDeviceOption } from "./options.ts";
import { ServiceFailure } from "../api/service-failure.ts";
import type { AppDocument } from "../../protocol/apps/fields-in-force.ts";
import { isWholeApp, stillInForce } from "../apply/plan.ts";
import {
  type AppFlags,
  type AppListField,
  type AppRequest,
  buildAppRequest,
  LIST_FIELDS,
  secretsWithoutValue,
  withoutSecretValues,
} from "../deploy/app-request.ts";
import { CLEARED_CONTAINER_FIELDS } from "../deploy/container-flags.ts";
import { type AppOptions, readAppFile, readAppFlags } from "../deploy/read-app.ts";
import { keptFiles } from "../deploy/app-files.ts";
import { type ExecutionOptions, readExecutionOptions } from "../deploy/execution-options.ts";
import { usageFailure } from "../failure.ts";
import { fieldText } from "../views/spec-fields.ts";
import { addAppOptions, addExecutionOptions } from "./app-options.ts";

interface LifecycleFlags extends FollowFlags {
  /** Seconds. */
  readonly waitForDevice?: number;
}

const LIFECYCLE_ACTIONS = [
  ["stop", "stop an app; it stays stopped, also over reboots"],
  ["start", "start an app that was stopped"],
  ["restart", "stop an app and start it again"],
] as const;

const APP_PATH = "/v1/assets/{asset_id}/edge/apps/{name}";

/** Adds `stop`, `start` and `restart`. */
export function addAppsLifecycle(apps: Command, io: Io): void {
  for (const [action, description] of LIFECYCLE_ACTIONS) {
    const lifecycle = apps
      .command(action)
      .description(description)
      .argument(...ASSET)
      .argument(...APP);
    addFollowOptions(lifecycle.addOption(waitForDeviceOption()).addOption(timingsOption()), "it").action(
      async (asset: string, name: string, flags: LifecycleFlags, command: Command) => {
        const context = createContext(io, command);
        const client = await connect(context);
        await requestDeployment(context, client, asset, requestFor(action, asset, name, flags), flags);
      },
    );
  }
}

function requestFor(
  action: (typeof LIFECYCLE_ACTIONS)[number][0],
  asset: string,
  name: string,
  { waitForDevice }: LifecycleFlags,
): DeploymentRequest {
  const options = { path: { asset_id: asset, name }, query: { wait_for_device_s: waitForDevice } };
  return requestOf(`POST ${APP_PATH}/${action}`, options);
}

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
  ...CLEARED_CONTAINER_FIELDS,
  project: ["project", null],
  networks: ["networks", null],
  "internal-networks": ["internal_networks", null],
  "external-networks": ["external_networks", null],
  network: ["network", null],
  aliases: ["aliases", null],
  files: ["files", null],
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
    .option("-f, --app-file <file>", "the change as JSON, as the API takes it; - for standard input");
  addExecutionOptions(addAppOptions(update)).addOption(
    new Option("--clear <what>", "take away what the app has (repeatable)")
      .choices(Object.keys(CLEARED))
      .argParser(collect(String)),
  );
  addFollowOptions(update, "the update")
    .addOption(timingsOption())
    .addHelpText("after", HELP)
    .action(
      async (asset: string, name: string, args: string[], options: UpdateOptions, command: Command): Promise<void> => {
        const context = createContext(io, command);
        const fileName = options.appFile;
        const file = fileName === undefined ? {} : await readAppFile(fileName, io);
        const flags = await readAppFlags(options, args, io);
        const base = { ...file, ...cleared(options.clear ?? []), ...replacedNetworks(flags) };
        const execution = await readExecutionOptions(options, io);
        const client = await connect(context);
        const missing = listsToExtend(flags, base);
        const missingOptions = Object.keys(flags.containerEntries ?? {}).filter((field) => !(field in base));
        const mustKnow = missing.length > 0 || missingOptions.length > 0;
        const current = mustKnow || isWholeApp(file) ? await findSpec(client, asset, name, mustKnow) : {};
        const kept = Object.fromEntries(missing.map((list) => [list, keptEntries(list, current[list] ?? [])]));
        const keptOptions = Object.fromEntries(missingOptions.map((field) => [field, current[field] ?? null]));
        const app = buildAppRequest({ ...kept, ...keptOptions, ...base }, flags);
        for (const key of secretsWithoutValue(app).filter((name) => isGiven(name, flags))) {
          context.printer.note(`${key} is not set in this shell: it keeps the value it has on the device.`);
        }
        if (isWholeApp(file)) noteKept(context, fileName ?? "", stillInForce(current, app));
        const body = { ...app, ...execution };
        const query = { dry_run: options.dryRun ? "true" : undefined };
        const request = requestOf(`PATCH ${APP_PATH}`, { path: { asset_id: asset, name }, query, body });
        await requestDeployment(context, client, asset, request, options);
      },
    );
}

/** Returns the app's specification. @param mustKnow asks the device, also for its variables' values; errors are thrown */
async function findSpec(client: ApiClient, asset: string, name: string, mustKnow: boolean): Promise<AppDocument> {
  const found = getApp(client, asset, name, mustKnow);
  const { spec } = await (mustKnow ? found : found.catch(notKnown));
  return spec;
}

/** The update itself says what is wrong with the app or the device. */
function notKnown(error: unknown): { readonly spec: AppDocument } {
  if (error instanceof ServiceFailure) return { spec: {} };
  throw error;
}

/** Says what the app has beyond a file that looks like a whole app: an update does not take it away. */
function noteKept({ printer }: Context, fileName: string, kept: ReturnType<typeof stillInForce>): void {
  if (kept.length === 0) return;
  const fields = kept.map(({ field, value }) =>
    value === undefined ? field : `${field} (${fieldText(field, value)})`,
  );
  printer.note(
    `Not in ${fileName === "-" ? "standard input" : fileName} and still in force: ${fields.join(", ")}. ` +
      "`edgectl apply` replaces the app by the file; --clear takes away single fields.",
  );
}

/** The entries of a list as an update keeps them: the device returns neither secrets nor contents of files. */
function keptEntries(list: AppListField, entries: unknown): unknown {
  return list === "files" ? keptFiles(entries) : withoutSecretValues(entries);
}

function isGiven(name: string, { environments }: AppFlags): boolean {
  return environments.some(({ key }) => key === name);
}

/** What is given takes the place of what the app has: it cannot be on networks and on none. */
function replacedNetworks({ scalars }: AppFlags): AppRequest {
  const { networks, internal_networks: internal = null, external_networks: external = null, network } = scalars;
  return {
    ...(networks !== undefined && { network: null, internal_networks: internal, external_networks: external }),
    ...(network !== undefined && { networks: null, internal_networks: null, external_networks: null }),
  };
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
What is not given stays as it is, also with -f; \`edgectl apply\` makes the app
as a file says, and takes away what is not in it.

A variable, port, volume, file or device replaces the app's entry of the same
variable, container port or container path; others are added to it, as are
capabilities, limits, hosts, labels and the like. To set all anew: --clear env
--env A=1.

A variable that is a secret stays one. --secret-env KEY takes this shell's
value; if the shell has none, KEY becomes a secret and keeps the value it has on
the device.

The old version runs until the new one is ready to start.

Examples:
  edgectl apps update GW-0001 web --image nginx:1.30
  edgectl apps update GW-0001 web --env LOG_LEVEL=debug --dry-run
  edgectl apps update GW-0001 web --secret-env DB_PASSWORD
  edgectl apps update GW-0001 web --clear ports --port 30090:80`;
