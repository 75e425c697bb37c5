import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";

type Fields = Readonly<Record<string, unknown>>;

const MIB = 1024 ** 2;
const SHORT_HASH = 12;

/** Entries of lists, as the options of the command line write them. */
const ENTRIES: Readonly<Record<string, (entry: Fields) => string>> = {
  ports: ({ host_port, target_port, protocol, host_address }) =>
    `${host_address === undefined ? "" : `${address(host_address)}:`}${word(host_port)}:${word(target_port)}${protocol === undefined || protocol === "tcp" ? "" : `/${word(protocol)}`}`,
  volumes: ({ local, name, target, readonly, owner, nocopy, shared }) => {
    const words = [readonly === true ? ":ro" : "", nocopy === true ? ":nocopy" : "", shared === true ? ":shared" : ""];
    return `${word(local ?? name)}:${word(target)}${words.join("")}${owner === undefined ? "" : `:owner=${word(owner)}`}`;
  },
  files: ({ target, size, sha256, mode, owner, secret }) => {
    const parts = [
      typeof size === "number" ? formatBytes(size) : "",
      typeof sha256 === "string" ? `sha256 ${word(sha256.slice(0, SHORT_HASH))}` : "",
      mode === undefined ? "" : word(mode),
      owner === undefined ? "" : `owner ${word(owner)}`,
      secret === true ? "secret" : "",
    ];
    return `${word(target)} (${parts.filter((part) => part !== "").join(", ")})`;
  },
  devices: ({ local, target, permissions }) => {
    const path = target === undefined && permissions === undefined ? "" : `:${word(target ?? local)}`;
    return `${word(local)}${path}${permissions === undefined ? "" : `:${word(permissions)}`}`;
  },
  tmpfs: ({ target, size_bytes, mode, exec }) => {
    const size = size_bytes === undefined ? [] : [`size=${word(size_bytes)}`];
    const rest = [...(mode === undefined ? [] : [`mode=${word(mode)}`]), ...(exec === true ? ["exec"] : [])];
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
