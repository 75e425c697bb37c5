import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { type ContainerOptions, containerOptions } from "../../protocol/apps/container-options.ts";
import { UNLIMITED_SWAP } from "../../protocol/apps/container-rights.ts";

type Fields = Readonly<Record<string, unknown>>;

const MIB = 1024 ** 2;
const SHORT_HASH = 12;

/** Returns a port with the address that it is reachable at, as compose has it. */
export function formatPort({ host_port: host, target_port: target, protocol, host_address: at }: Fields): string {
  const suffix = protocol === undefined || protocol === "tcp" ? "" : `/${word(protocol)}`;
  return `${at === undefined ? "" : `${address(at)}:`}${word(host)}:${word(target)}${suffix}`;
}

/** Entries of lists, as the options of the command line write them. */
const ENTRIES: Readonly<Record<string, (entry: Fields) => string>> = {
  ports: formatPort,
  volumes: ({ local, name, external, target, readonly, owner, nocopy, shared, subpath }) => {
    const words = [readonly === true ? ":ro" : "", nocopy === true ? ":nocopy" : "", shared === true ? ":shared" : ""];
    const source = external === undefined ? word(local ?? name) : `external:${word(external)}`;
    if (subpath !== undefined) words.push(`:subpath=${word(subpath)}`);
    return `${source}:${word(target)}${words.join("")}${owner === undefined ? "" : `:owner=${word(owner)}`}`;
  },
  files: ({ target, size, sha256, mode, owner, secret, directory }) => {
    const parts = [
      directory === true ? "directory" : "",
      typeof size === "number" ? formatBytes(size) : "",
      typeof sha256 === "string" ? `sha256 ${word(sha256.slice(0, SHORT_HASH))}` : "",
      mode === undefined || directory === true ? "" : word(mode),
      owner === undefined ? "" : `owner ${word(owner)}`,
      secret === true ? "secret" : "",
    ];
    return `${word(target)} (${parts.filter((part) => part !== "").join(", ")})`;
  },
  devices: ({ local, target, permissions }) => {
    const path = target === undefined && permissions === undefined ? "" : `:${word(target ?? local)}`;
    return `${word(local)}${path}${permissions === undefined ? "" : `:${word(permissions)}`}`;
  },
  tmpfs: ({ target, size_bytes, mode, owner, exec }) => {
    const size = size_bytes === undefined ? [] : [`size=${word(size_bytes)}`];
    const [uid, gid = "0"] = owner === undefined ? [] : word(owner).split(":");
    const rest = [
      ...(mode === undefined ? [] : [`mode=${word(mode)}`]),
      ...(uid === undefined ? [] : [`uid=${uid},gid=${gid}`]),
      ...(exec === true ? ["exec"] : []),
    ];
    const options = [...size, ...rest].join(",");
    return `${word(target)}${options === "" ? "" : `:${options}`}`;
  },
  ulimits: ({ name, soft, hard }) => `${word(name)}=${word(soft)}${hard === undefined ? "" : `:${word(hard)}`}`,
  extra_hosts: ({ name, address }) => `${word(name)}:${word(address)}`,
};

/** With brackets around one of IPv6. */
function address(value: unknown): string {
  const text = word(value);
  return text.includes(":") ? `[${text}]` : text;
}

/** Fields with a number of bytes. */
const SIZES = new Set(["memory_limit", "shm_size"]);

/**
 * One value of a specification on one line, safe to print. Two values that differ are shown differently.
 * @param field such as `memory_limit`, or `ports` for one port mapping
 */
export function fieldText(field: string, value: unknown): string {
  const entry = ENTRIES[field];
  if (entry && typeof value === "object" && value !== null) return entry(value as Fields);
  if (SIZES.has(field) && typeof value === "number") return sizeText(value);
  return word(value);
}

/** A list's entry, or any other value. Strings stand as they are; the rest is JSON. */
function word(value: unknown): string {
  return sanitizeLine(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

function sizeText(bytes: number): string {
  return bytes > 0 && bytes % MIB === 0 ? `${bytes / MIB} MiB` : `${formatBytes(bytes)} (${bytes})`;
}

/** Renders a specification's fields other than name, image and ports. Fields unknown to this version are omitted. */
export function specFields(spec: Spec): Row[] {
  const rows: Row[] = [
    ["Variables", lines(spec["environments"], variable)],
    ["Volumes", lines(spec["volumes"], (volume) => fieldText("volumes", volume))],
    ["Files", lines(spec["files"], (file) => fieldText("files", file))],
    ["Devices", lines(spec["devices"], (device) => fieldText("devices", device))],
    ["Command", Array.isArray(spec["command"]) ? spec["command"].map(text).join(" ") : ""],
    ["Processors", limit(spec["cpu_limit"], String)],
    ["Memory", limit(spec["memory_limit"], formatBytes)],
    ["Health check", isObject(spec["healthcheck"]) ? healthcheck(spec["healthcheck"]) : ""],
    ["Health timeout", typeof spec["health_timeout_s"] === "number" ? formatDuration(spec["health_timeout_s"]) : ""],
    ["Project", typeof spec["project"] === "string" ? text(spec["project"]) : ""],
    ["Pull", typeof spec["pull"] === "string" ? text(spec["pull"]) : ""],
    ["Restart", typeof spec["restart_policy"] === "string" ? text(spec["restart_policy"]) : ""],
    ["Further names", Array.isArray(spec["aliases"]) ? spec["aliases"].map(text).join(", ") : ""],
    ["Networks", Array.isArray(spec["networks"]) ? spec["networks"].map(text).join(", ") : ""],
    [
      "Internal networks",
      Array.isArray(spec["internal_networks"]) ? spec["internal_networks"].map(text).join(", ") : "",
    ],
    [
      "External networks",
      Array.isArray(spec["external_networks"]) ? spec["external_networks"].map(text).join(", ") : "",
    ],
    ["Network", typeof spec["network"] === "string" ? text(spec["network"]) : ""],
    ["Host network", spec["host_network"] === true ? "yes" : ""],
    ["Privileged", spec["privileged"] === true ? "yes" : ""],
    ...containerFields(spec),
  ];
  return rows.filter(([, value]) => value !== "");
}

function variable({ key, value, secret }: Spec): string {
  return `${text(key)}=${text(value)}${secret === true ? " (secret)" : ""}`;
}

/** The command, and in a second line when it runs and what its failures mean. */
function healthcheck({ command, interval_s, timeout_s, retries, start_period_s }: Spec): string {
  const parts: string[] = [];
  if (typeof interval_s === "number") parts.push(`every ${formatDuration(interval_s)}`);
  if (typeof timeout_s === "number") parts.push(`at most ${formatDuration(timeout_s)}`);
  if (typeof retries === "number") parts.push(`unhealthy after ${retries} ${retries === 1 ? "failure" : "failures"}`);
  const grace = typeof start_period_s === "number" ? start_period_s : 0;
  const ignored = grace > 0 ? `; failures of the first ${formatDuration(grace)} do not count` : "";
  return [commandText(command), `${parts.join(", ")}${ignored}`].filter((line) => line !== "").join("\n");
}

/** A command without a shell as JSON, so that its arguments can be told apart. */
function commandText(command: unknown): string {
  if (!Array.isArray(command)) return "";
  const isShell = command.length === 3 && command[0] === "sh" && command[1] === "-c";
  return text(isShell ? command[2] : JSON.stringify(command));
}

function limit(value: unknown, show: (value: number) => string): string {
  return typeof value === "number" ? `at most ${show(value)}` : "";
}

function lines(value: unknown, show: (entry: Spec) => string): string {
  if (!Array.isArray(value)) return "";
  return value.filter(isObject).map(show).join("\n");
}

type Row = [name: string, value: string];
type Spec = Readonly<Record<string, unknown>>;

interface Shown {
  /** Default: the field's name. */
  readonly label?: string;
  /** Default: by the kind of the value. */
  readonly show?: (value: unknown) => string;
}

/** Options of an app's container that are shown otherwise than by name and value. */
const SHOWN: { readonly [K in keyof ContainerOptions]?: Shown } = {
  entrypoint: { show: (value) => (Array.isArray(value) ? text(JSON.stringify(value)) : "") },
  working_dir: { label: "Working directory" },
  cap_add: { label: "Capabilities" },
  cap_drop: { label: "Without capabilities" },
  read_only: { label: "Read-only" },
  tmpfs: { label: "In memory" },
  shm_size: { label: "Shared memory", show: bytes },
  ulimits: { label: "Process limits" },
  sysctls: { label: "Kernel parameters" },
  extra_hosts: { label: "Known hosts" },
  dns: { label: "Name servers" },
  dns_search: { label: "Search domains" },
  dns_options: { label: "Name service options" },
  hostname: { label: "Host name" },
  init: { label: "Init process" },
  stop_grace_s: { label: "Stop timeout", show: (value) => (typeof value === "number" ? formatDuration(value) : "") },
  log: { show: (value) => (isObject(value) ? log(value) : "") },
  gpus: { label: "GPUs", show: gpus },
  group_add: { label: "Further groups" },
  pids_limit: { label: "Most processes" },
  security_opt: { label: "Security options" },
  pid: { label: "Processes of" },
  ipc: { label: "Shared memory of" },
  memory_swap_limit: { label: "Memory with swap", show: swap },
  no_healthcheck: { label: "Without health check" },
  max_restarts: { label: "Most restarts" },
};

const OPTIONS = Object.keys(containerOptions) as (keyof ContainerOptions)[];

/** Renders the options of an app's container. The value of an option that is not set is empty. */
function containerFields(spec: Spec): Row[] {
  return OPTIONS.map((field) => {
    const { label = labelOf(field), show = (value: unknown) => valueText(field, value) } = SHOWN[field] ?? {};
    return [label, show(spec[field])];
  });
}

/** `stop_signal` as `Stop signal`. */
function labelOf(field: string): string {
  return `${field.charAt(0).toUpperCase()}${field.slice(1).replaceAll("_", " ")}`;
}

function valueText(field: string, value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "yes" : "";
  if (Array.isArray(value)) return ENTRIES[field] ? entryLines(field, value) : list(value);
  return isObject(value) ? map(value) : textOf(value);
}

function bytes(value: unknown): string {
  return typeof value === "number" ? formatBytes(value) : "";
}

function log({ max_bytes, max_files }: Spec): string {
  if (typeof max_bytes !== "number" || typeof max_files !== "number") return "";
  return `${max_files} ${max_files === 1 ? "file" : "files"} of at most ${formatBytes(max_bytes)}`;
}

function swap(value: unknown): string {
  if (typeof value !== "number") return "";
  return value === UNLIMITED_SWAP ? "no limit" : formatBytes(value);
}

function gpus(value: unknown): string {
  return isObject(value) ? list(value["ids"]) : textOf(value);
}

function entryLines(field: string, value: unknown): string {
  return Array.isArray(value) ? value.map((entry) => fieldText(field, entry)).join("\n") : "";
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.map(text).join(", ") : "";
}

function map(value: unknown): string {
  if (!isObject(value)) return "";
  return Object.entries(value)
    .map(([key, entry]) => `${text(key)}=${text(entry)}`)
    .join("\n");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? text(value) : "";
}

function isObject(value: unknown): value is Spec {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return sanitizeLine(String(value));
}
