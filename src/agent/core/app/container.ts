import { normalizePath } from "../../../protocol/normalize-path.ts";
import { VERSION_SUFFIXES } from "../../../protocol/app-fields.ts";
import type { AppSpec } from "../../../protocol/app-spec.ts";
import type { DeploymentRecord } from "../deployment/record.ts";

/**
 * Labels on every container of the agent: how it finds its own again, whatever happened in between. An image's labels
 * become its container's, so each of these is set at every creation, also where there is nothing to say. Releases before
 * left `extras` and `previousImage` out then.
 */
export const LABELS = {
  app: "io.edge-agent.app",
  deployment: "io.edge-agent.deployment",
  specHash: "io.edge-agent.spec-hash",
  /** State directory of the agent it belongs to: more than one agent may share an engine, as on a test machine. */
  stateDir: "io.edge-agent.state-dir",
  /** Fields of the specification that engines do not give back as they were given, as JSON; `{}` where it has none. */
  extras: "io.edge-agent.extras",
  /** The image reference that was asked for: the container may have been made by the image's id. */
  image: "io.edge-agent.image",
  /** Id of the image an update replaced; empty where there was none. */
  previousImage: "io.edge-agent.previous-image",
} as const;

/** The container of an app is named as the app, except that engines refuse names of one character. */
export function containerName(app: string): string {
  return app.length === 1 ? `${app}-app` : app;
}

/** Name of a new version's container until it takes the app's own. No app that is deployed may be called so. */
export function newVersionName(app: string): string {
  return `${containerName(app)}${VERSION_SUFFIXES.new}`;
}

/** Name of the old version's container until the new one has proved itself. */
export function oldVersionName(app: string): string {
  return `${containerName(app)}${VERSION_SUFFIXES.old}`;
}

/** Whether a name is one of those the agent gives an app's containers. */
export function hasAgentGivenName(name: string, app: string): boolean {
  return name === containerName(app) || hasTemporaryName(name, app);
}

/** Whether an app's container has a name an update gave it. One that a person gave it is that person's affair. */
export function hasTemporaryName(name: string, app: string): boolean {
  return name === newVersionName(app) || name === oldVersionName(app);
}

/**
 * The specification in one canonical text: two requests that mean the same have the same text. Hashed for the
 * `spec-hash` label.
 */
export function canonicalSpec(spec: AppSpec): string {
  return JSON.stringify([
    spec.name,
    spec.image,
    spec.host_network,
    spec.privileged,
    spec.environments.map(({ key, value }) => [key, value]),
    spec.ports.map(({ host_port, target_port, protocol }) => [
      host_port,
      target_port,
      ...(protocol === "udp" ? [protocol] : []),
    ]),
    spec.volumes.map(({ local, target, readonly }) => [normalizePath(local), normalizePath(target), readonly]),
    // Without any of these the text is as it was before there were any.
    ...(hasExtras(spec) ? [extrasOf(spec)] : []),
  ]);
}

/**
 * The fields of a specification that are absent by default, without those that say what holds anyway, in one order: as
 * text they make the label they are read back from.
 */
export function extrasOf(spec: AppSpec): Partial<AppSpec> {
  const { command, cpu_limit, memory_limit, devices = [], healthcheck, restart_policy } = spec;
  return {
    ...(command && { command }),
    ...(cpu_limit !== undefined && { cpu_limit }),
    ...(memory_limit !== undefined && { memory_limit }),
    ...(devices.length > 0 && { devices: devices.map(canonicalDevice) }),
    ...(healthcheck && { healthcheck: canonicalHealthcheck(healthcheck) }),
    ...(restart_policy !== undefined && restart_policy !== "unless-stopped" && { restart_policy }),
  };
}

/** Whether the specification has any field that is absent by default. */
export function hasExtras(spec: AppSpec): boolean {
  return Object.keys(extrasOf(spec)).length > 0;
}

type Device = NonNullable<AppSpec["devices"]>[number];
type Healthcheck = NonNullable<AppSpec["healthcheck"]>;

function canonicalDevice({ local, target = local, permissions = "rwm" }: Device): Device {
  const inOrder = ["r", "w", "m"].filter((letter) => permissions.includes(letter)).join("");
  return { local: normalizePath(local), target: normalizePath(target), permissions: inOrder };
}

function canonicalHealthcheck(check: Healthcheck): Healthcheck {
  const { command, interval_s, timeout_s, retries, start_period_s } = check;
  return { command, interval_s, timeout_s, retries, start_period_s };
}

function secretsOfAuth(auth: DeploymentRecord["options"]["registry_auth"]): string[] {
  if (!auth) return [];
  return "token" in auth ? [auth.token] : [auth.password];
}

/** Everything that must not show in what is told of a deployment: an app may repeat what its last version was given. */
export function secretsOfRecord(record: Pick<DeploymentRecord, "spec" | "previous" | "options">): string[] {
  const { spec, previous, options } = record;
  return [...secretsOf(spec), ...secretsOf(previous?.spec), ...secretsOfAuth(options.registry_auth)];
}

/** Values of the environment: the secrets of a specification. */
export function secretsOf(spec: AppSpec | undefined): string[] {
  return spec?.environments.map(({ value }) => value) ?? [];
}
