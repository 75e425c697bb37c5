import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { UNLIMITED_SWAP } from "../../protocol/container-rights.ts";
import { fieldText } from "./field-text.ts";

type Row = [name: string, value: string];
type Spec = Readonly<Record<string, unknown>>;

/** Renders the options of an app's container. The value of an option that is not set is empty. */
export function containerFields(spec: Spec): Row[] {
  return [
    ["Entrypoint", Array.isArray(spec["entrypoint"]) ? text(JSON.stringify(spec["entrypoint"])) : ""],
    ["User", textOf(spec["user"])],
    ["Working directory", textOf(spec["working_dir"])],
    ["Capabilities", list(spec["cap_add"])],
    ["Without capabilities", list(spec["cap_drop"])],
    ["Read-only", spec["read_only"] === true ? "yes" : ""],
    ["In memory", lines("tmpfs", spec["tmpfs"])],
    ["Shared memory", typeof spec["shm_size"] === "number" ? formatBytes(spec["shm_size"]) : ""],
    ["Process limits", lines("ulimits", spec["ulimits"])],
    ["Kernel parameters", map(spec["sysctls"])],
    ["Known hosts", lines("extra_hosts", spec["extra_hosts"])],
    ["Name servers", list(spec["dns"])],
    ["Host name", textOf(spec["hostname"])],
    ["Labels", map(spec["labels"])],
    ["Init process", spec["init"] === true ? "yes" : ""],
    ["Stop signal", textOf(spec["stop_signal"])],
    ["Stop timeout", typeof spec["stop_grace_s"] === "number" ? formatDuration(spec["stop_grace_s"]) : ""],
    ["Log", isObject(spec["log"]) ? log(spec["log"]) : ""],
    ["GPUs", gpus(spec["gpus"])],
    ["Further groups", list(spec["group_add"])],
    ["Most processes", typeof spec["pids_limit"] === "number" ? String(spec["pids_limit"]) : ""],
    ["Security options", list(spec["security_opt"])],
    ["Processes of", textOf(spec["pid"])],
    ["Shared memory of", textOf(spec["ipc"])],
    ["Memory with swap", swap(spec["memory_swap_limit"])],
    ["Without health check", spec["no_healthcheck"] === true ? "yes" : ""],
  ];
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

function lines(field: string, value: unknown): string {
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
