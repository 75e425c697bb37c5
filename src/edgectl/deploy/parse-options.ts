import { InvalidArgumentError } from "commander";
import type { AppSpec, PortMapping, Volume } from "../../protocol/apps/app-spec.ts";
import { UNLIMITED_SWAP } from "../../protocol/apps/container-rights.ts";
import { parseOwner, volumeName } from "../../protocol/apps/volume-fields.ts";
import { usageFailure } from "../failure.ts";
import { canonicalCapability } from "../../protocol/apps/capabilities.ts";
import type { ContainerOptions } from "../../protocol/apps/container-options.ts";

export type DeviceMapping = NonNullable<AppSpec["devices"]>[number];

const SIZE_FACTORS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Parses `[ADDRESS:]HOST:TARGET[/udp]`, such as `30080:80` or `127.0.0.1:30080:80`. The service checks range and address. */
export function parsePort(text: string): PortMapping {
  const match = /^(?:((?!0\.0\.0\.0)\d+(?:\.\d+){3}|\[[\da-fA-F:.]+\]):)?(\d{1,5}):(\d{1,5})(?:\/(tcp|udp))?$/.exec(
    text,
  );
  if (!match)
    throw new InvalidArgumentError("Write HOST:TARGET, such as 30080:80, HOST:TARGET/udp, or 127.0.0.1:HOST:TARGET.");
  const address = match[1]?.replace(/^\[(.*)\]$/, "$1");
  return {
    host_port: Number(match[2]),
    target_port: Number(match[3]),
    ...(match[4] === "udp" && { protocol: "udp" }),
    ...(address !== undefined && { host_address: address }),
  };
}

const OWNER_SUFFIX = /:owner=([^/]*)$/;

/** Before the name of a volume of the engine that the agent does not make. */
const EXTERNAL_PREFIX = "external:";

/**
 * Parses `SOURCE:TARGET[:ro|rw][:owner=UID[:GID]]`, such as `/var/lib/web:/data:ro` or `web-data:/data`. A source that is
 * no path is the name of a volume; after `external:` it is the engine's. Paths with a colon need an app file.
 */
export function parseVolume(text: string): Volume {
  if (text.startsWith(EXTERNAL_PREFIX)) {
    const volume = parseVolume(text.slice(EXTERNAL_PREFIX.length));
    if ("name" in volume && volume.owner === undefined)
      return { external: volume.name, target: volume.target, readonly: volume.readonly };
    throw new InvalidArgumentError("Write external:NAME:TARGET, or external:NAME:TARGET:ro.");
  }
  const owner = OWNER_SUFFIX.exec(text)?.[1];
  const [source = "", target = "", mode = "rw", ...rest] = text.replace(OWNER_SUFFIX, "").split(":");
  const isName = volumeName.safeParse(source).success;
  if (rest.length > 0 || !(source.startsWith("/") || isName) || !target.startsWith("/")) {
    throw new InvalidArgumentError(
      "Write SOURCE:TARGET or SOURCE:TARGET:ro, with an absolute path or the name of a volume, and an absolute path.",
    );
  }
  if (mode !== "ro" && mode !== "rw") throw new InvalidArgumentError("The third part is ro or rw.");
  if (owner !== undefined && !parseOwner(owner)) {
    throw new InvalidArgumentError("Write the owner as numbers: owner=UID or owner=UID:GID.");
  }
  const options = { target, readonly: mode === "ro", ...(owner !== undefined && { owner }) };
  return isName ? { name: source, ...options } : { local: source, ...options };
}

/** Parses `LOCAL[:TARGET[:PERMISSIONS]]`, such as `/dev/ttyUSB0` or `/dev/ttyUSB0:/dev/serial:rw`. */
export function parseDevice(text: string): DeviceMapping {
  const [local = "", target, permissions, ...rest] = text.split(":");
  if (rest.length > 0 || !local.startsWith("/") || (target !== undefined && !target.startsWith("/"))) {
    throw new InvalidArgumentError("Write LOCAL, LOCAL:TARGET or LOCAL:TARGET:rw with absolute paths.");
  }
  return { local, ...(target !== undefined && { target }), ...(permissions !== undefined && { permissions }) };
}

/** Parses a size of memory and swap together, or `-1` for no limit. */
export function parseSwap(text: string): number {
  return text.trim() === String(UNLIMITED_SWAP) ? UNLIMITED_SWAP : parseSize(text);
}

/** Parses a number of bytes: `500000`, `50MB` (decimal) or `256MiB` (binary). */
export function parseSize(text: string): number {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]{0,3})$/.exec(text.trim());
  const factor = SIZE_FACTORS[match?.[2] || "B"];
  const bytes = Math.round(Number(match?.[1]) * (factor ?? Number.NaN));
  if (!Number.isSafeInteger(bytes)) {
    throw new InvalidArgumentError("Write a size such as 50MB (50,000,000 bytes) or 256MiB (268,435,456 bytes).");
  }
  return bytes;
}

export interface EnvironmentEntry {
  readonly key: string;
  /** Absent for a secret that keeps the value it has in the app file or on the device. */
  readonly value?: string;
  readonly secret?: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Parses one `--env`: `KEY=VALUE`, or `KEY` alone for its value in this shell, which keeps a secret out of the process
 * list. Errors may contain the key, never the value.
 */
export function parseEnv(text: string, env: Env): EnvironmentEntry {
  return parseAssignment(text, env, "--env");
}

/**
 * Parses one `--secret-env`: as `--env`, but a `KEY` alone that is not set in this shell has no value here. Errors may
 * contain the key, never the value.
 */
export function parseSecretEnv(text: string, env: Env): EnvironmentEntry {
  const isKept = !text.includes("=") && env[text] === undefined && text.trim() !== "";
  const entry = isKept ? { key: text } : parseAssignment(text, env, "--secret-env");
  return { ...entry, secret: true };
}

/**
 * Parses an environment file in the format of `docker run --env-file`: a line is `KEY=VALUE`, literal and without
 * quoting, or `KEY` alone. Empty lines and lines that begin with `#` are ignored.
 */
export function parseLiteralEnvFile(text: string, env: Env, fileName: string): EnvironmentEntry[] {
  return text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line, index) => ({ line: line.trimStart(), where: `${fileName}, line ${index + 1}` }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"))
    .map(({ line, where }) => parseAssignment(line, env, where));
}

function parseAssignment(text: string, env: Env, where: string): EnvironmentEntry {
  const equals = text.indexOf("=");
  const key = (equals === -1 ? text : text.slice(0, equals)).trimEnd();
  if (key === "") throw usageFailure(`${where}: there is no variable name before the "=".`, "Write KEY=VALUE or KEY.");
  if (equals !== -1) return { key, value: text.slice(equals + 1) };
  const value = env[key];
  if (value === undefined) {
    throw usageFailure(`${where}: ${key} has no value, and is not set in this shell.`, `Write ${key}=VALUE.`);
  }
  return { key, value };
}

export type TmpfsMount = NonNullable<ContainerOptions["tmpfs"]>[number];
export type ExtraHost = NonNullable<ContainerOptions["extra_hosts"]>[number];
/** The service checks the name. */
export type Ulimit = Omit<NonNullable<ContainerOptions["ulimits"]>[number], "name"> & { readonly name: string };
export type KeyValue = readonly [key: string, value: string];

/** Returns the name of a capability as it is stored; `CAP_NET_ADMIN` becomes `NET_ADMIN`. The service checks it. */
export function parseCapability(text: string): string {
  return canonicalCapability(text);
}

/** Parses `PATH[:size=SIZE][,mode=MODE][,exec]`, such as `/run:size=64MiB,mode=0755`. */
export function parseTmpfs(text: string): TmpfsMount {
  const [, target = "", list = ""] = /^(\/[^:]*)(?::(.+))?$/.exec(text) ?? [];
  const words = list === "" ? [] : list.split(",");
  const options = words.filter((word) => word !== "exec").map((option): string[] => option.split("="));
  const isKnown = options.every(
    ([name = "", value]) => ["size", "mode", "uid", "gid"].includes(name) && value !== undefined,
  );
  if (target === "" || !isKnown) {
    throw new InvalidArgumentError("Write PATH or PATH:size=64MiB,mode=0755 with an absolute path.");
  }
  const { size, mode, uid, gid } = Object.fromEntries(options) as Readonly<
    Partial<Record<"size" | "mode" | "uid" | "gid", string>>
  >;
  return {
    target,
    ...(size !== undefined && { size_bytes: parseSize(size) }),
    ...(mode !== undefined && { mode }),
    ...((uid ?? gid) !== undefined && { owner: `${uid ?? 0}:${gid ?? 0}` }),
    ...(words.includes("exec") && { exec: true }),
  };
}

/** Parses `NAME=SOFT[:HARD]`, such as `nofile=1024:65536`; -1 and `unlimited` mean no limit. */
export function parseUlimit(text: string): Ulimit {
  const [, name = "", soft = "", hard] =
    /^([a-z]+)=(-1|unlimited|\d{1,15})(?::(-1|unlimited|\d{1,15}))?$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Write NAME=SOFT or NAME=SOFT:HARD, such as nofile=1024:65536.");
  return { name, soft: toLimit(soft), ...(hard !== undefined && { hard: toLimit(hard) }) };
}

function toLimit(text: string): number {
  return text === "unlimited" ? -1 : Number(text);
}

/** Parses `KEY=VALUE`. The value may be empty and contain `=`. */
export function parseKeyValue(text: string): KeyValue {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Write KEY=VALUE.");
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Parses `NAME:ADDRESS`, such as `plc.local:192.168.1.10`; the address may be IPv6, or `host-gateway`. */
export function parseExtraHost(text: string): ExtraHost {
  const [, name = "", address = ""] = /^([^:=]+)[:=](.+)$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Write NAME:ADDRESS, such as plc.local:192.168.1.10.");
  return { name, address: address.replace(/^\[(.*)\]$/, "$1") };
}

/** Parses `all`, or the indexes or UUIDs of GPUs with commas between them. */
export function parseGpus(text: string): NonNullable<ContainerOptions["gpus"]> {
  return text === "all" ? text : { ids: text.split(",") };
}
