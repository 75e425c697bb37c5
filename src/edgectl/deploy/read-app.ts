import { networkOwner } from "../../protocol/apps/app-network.ts";
import type { PortMapping, Volume } from "../../protocol/apps/app-spec.ts";
import { usageFailure } from "../failure.ts";
import { type Io, readTextFile, readTextOrStdin } from "../io.ts";
import { type FileOption, readAppFiles } from "./app-files.ts";
import { type AppFlags, type AppRequest, parseAppFile } from "./app-request.ts";
import { containerEntries, containerScalars } from "./container-flags.ts";
import {
  type DeviceMapping,
  type EnvironmentEntry,
  parseEnv,
  parseLiteralEnvFile,
  parseSecretEnv,
} from "./parse-options.ts";

/** The options that describe an app, as commander passes them. Durations in seconds, sizes in bytes. */
export interface AppOptions {
  readonly appFile?: string;
  readonly file?: readonly FileOption[];
  readonly secretFile?: readonly FileOption[];
  readonly name?: string;
  readonly image?: string;
  readonly port?: readonly PortMapping[];
  readonly env?: readonly string[];
  readonly envFile?: readonly string[];
  readonly secretEnv?: readonly string[];
  readonly volume?: readonly Volume[];
  readonly network?: readonly string[];
  readonly internalNetwork?: readonly string[];
  readonly externalNetwork?: readonly string[];
  readonly networkAlias?: readonly string[];
  readonly hostNetwork?: boolean;
  readonly privileged?: boolean;
  readonly device?: readonly DeviceMapping[];
  readonly cpus?: number;
  readonly memory?: number;
  readonly restart?: string;
  readonly pull?: string;
  readonly healthCmd?: string;
  readonly healthInterval?: number;
  readonly healthTimeout?: number;
  readonly healthRetries?: number;
  readonly healthStartPeriod?: number;
  readonly healthyWithin?: number;
}

/** Reads an app from the options and the arguments after `--`. Errors: exit code 2. */
export async function readAppFlags(options: AppOptions, command: readonly string[], io: Io): Promise<AppFlags> {
  return {
    scalars: {
      name: options.name,
      image: options.image,
      host_network: options.hostNetwork,
      privileged: options.privileged,
      command: command.length > 0 ? command : undefined,
      cpu_limit: options.cpus,
      memory_limit: options.memory,
      healthcheck: healthcheckOf(options),
      restart_policy: options.restart,
      health_timeout_s: options.healthyWithin,
      pull: options.pull,
      ...containerScalars(options),
      ...networkFields(options.network),
      internal_networks: options.internalNetwork,
      external_networks: options.externalNetwork,
      aliases: options.networkAlias,
    },
    ports: options.port ?? [],
    environments: await readEnvironments(options, io),
    volumes: options.volume ?? [],
    devices: options.device ?? [],
    containerEntries: containerEntries(options),
    files: await readAppFiles(options.file ?? [], options.secretFile ?? []),
  };
}

/** Reads the app file named by `-f`, or standard input for `-`. Errors: exit code 2. */
export async function readAppFile(name: string, io: Io): Promise<AppRequest> {
  return parseAppFile(await readTextOrStdin(name, io), name === "-" ? "Standard input" : name);
}

async function readEnvironments(options: AppOptions, io: Io): Promise<EnvironmentEntry[]> {
  const environments = new Map<string, EnvironmentEntry>();
  const set = (entry: EnvironmentEntry) => environments.set(entry.key, { ...environments.get(entry.key), ...entry });
  for (const name of options.envFile ?? []) {
    for (const entry of parseLiteralEnvFile(await readTextFile(name), io.env, name)) set(entry);
  }
  for (const text of options.env ?? []) set(parseEnv(text, io.env));
  for (const text of options.secretEnv ?? []) set(parseSecretEnv(text, io.env));
  return [...environments.values()];
}

/** `none` is no network, and takes no other beside it. */
function networkFields(names: AppOptions["network"]): AppFlags["scalars"] {
  if (!names) return {};
  const mode = names.find((name) => name === NO_NETWORK || networkOwner({ network: name }) !== undefined);
  if (mode === undefined) return { networks: names };
  if (names.length > 1)
    throw usageFailure(`--network ${mode} cannot be combined with a network.`, "Give one or the other.");
  return { network: mode };
}

const NO_NETWORK = "none";

function healthcheckOf(options: AppOptions): Record<string, unknown> | undefined {
  const { healthCmd, healthInterval, healthTimeout, healthRetries, healthStartPeriod } = options;
  const times = {
    ...(healthInterval !== undefined && { interval_s: healthInterval }),
    ...(healthTimeout !== undefined && { timeout_s: healthTimeout }),
    ...(healthRetries !== undefined && { retries: healthRetries }),
    ...(healthStartPeriod !== undefined && { start_period_s: healthStartPeriod }),
  };
  if (healthCmd !== undefined) return { command: ["sh", "-c", healthCmd], ...times };
  if (Object.keys(times).length > 0)
    throw usageFailure("Health check options need a health check.", "Give --health-cmd too.");
  return undefined;
}
