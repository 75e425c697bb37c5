import { UNLIMITED_SWAP } from "../../protocol/apps/container-rights.ts";
import type { Value } from "../documents/value.ts";
import { readSize, sizeOf } from "./quantities.ts";
import { setOnFailure } from "./misc.ts";
import { refuseUnknown } from "./unknown.ts";
import type { Converter, ServiceDraft } from "./service.ts";

const SWARM = "belongs to Swarm: it has no effect here, and none in compose.";

export const convertDeploy: Converter = (value, service) => {
  for (const [key, part] of value.fields()) {
    if (key === "resources") convertResources(part, service);
    else if (key === "replicas") {
      if (part.wholeNumber() !== 1)
        part.refuse("must be 1: an app runs once on a device.", "Give each copy a service.");
    } else if (key === "restart_policy") convertRestartPolicy(part, service);
    else if (key === "mode") {
      const mode = part.text();
      if (mode === "global") part.note("is what replicated is: a device runs the app once.");
      else if (mode !== "replicated") part.refuse("must be replicated or global.");
    } else if (["labels", "placement", "update_config", "rollback_config", "endpoint_mode"].includes(key)) {
      part.note(SWARM);
    } else refuseUnknown(new Map([[key, part]]), ["resources", "replicas", "restart_policy", "mode"]);
  }
};

function convertResources(value: Value, service: ServiceDraft): void {
  const fields = value.fields();
  refuseUnknown(fields, ["limits", "reservations"]);
  for (const [key, part] of fields.get("limits")?.fields() ?? []) {
    if (key === "cpus") setOnce(service, "cpu_limit", part, part.number());
    else if (key === "memory") setOnce(service, "memory_limit", part, readSize(part));
    else if (key === "pids") convertPids(part, service);
    else refuseUnknown(new Map([[key, part]]), ["cpus", "memory"]);
  }
  for (const [key, part] of fields.get("reservations")?.fields() ?? []) {
    if (key === "devices") for (const device of part.items()) convertGpu(device, service);
    else if (key === "cpus" || key === "memory") part.note("has no effect here: nothing is set aside on a device.");
    else part.refuse("is not supported.", "Remove it.");
  }
}

/** `mem_limit` and `deploy.resources.limits.memory` are the same, as are the processors. */
function setOnce(service: ServiceDraft, field: string, part: Value, value: number | undefined): void {
  if (service.has(field) && service.fields[field] !== value)
    part.refuse("contradicts the limit of the service itself.");
  // As in compose, 0 is no limit.
  if (value !== 0) service.set(field, value, part.place);
}

/** As in compose, 0 and -1 are no limit. */
function convertPids(value: Value, service: ServiceDraft): void {
  const limit = value.wholeNumber();
  setOnce(service, "pids_limit", value, limit === -1 ? 0 : limit);
}

/** As with the engine, 0 is its default, and -1 no limit. */
export const convertSwap: Converter = (value, service) => {
  const text = value.text();
  if (text === undefined) return;
  const limit = text === "-1" ? UNLIMITED_SWAP : readSize(value);
  if (limit !== undefined && limit !== 0) service.set("memory_swap_limit", limit, value.place);
};

/** Leaves a limit of swap out without one of memory, where engines have none. */
export function finishSwap(service: ServiceDraft): void {
  if (!service.has("memory_swap_limit") || service.has("memory_limit")) return;
  service.unset("memory_swap_limit");
  service.value
    .fields()
    .get("memswap_limit")
    ?.note("limits nothing without `mem_limit`: engines limit swap together with memory only.");
}

export const convertPidsLimit: Converter = convertPids;
export const convertMemory: Converter = (value, service) => setOnce(service, "memory_limit", value, readSize(value));
export const convertProcessors: Converter = (value, service) => setOnce(service, "cpu_limit", value, value.number());

const POLICIES: Readonly<Record<string, string>> = { any: "always", none: "no", "on-failure": "on-failure" };

function convertRestartPolicy(value: Value, service: ServiceDraft): void {
  const fields = value.fields();
  for (const [key, part] of fields) {
    if (key === "delay" || key === "window")
      part.note("belongs to Swarm: the engine waits longer after each failure, as with compose.");
    else if (key !== "max_attempts") refuseUnknown(new Map([[key, part]]), ["condition"]);
  }
  // As in compose, `restart` of the service takes precedence.
  if (service.value.fields().has("restart")) return;
  const condition = fields.get("condition");
  const policy = POLICIES[condition ? (condition.text() ?? "") : "any"];
  if (policy === undefined) condition?.refuse("must be any, none or on-failure.");
  const most = fields.get("max_attempts");
  const attempts = most?.wholeNumber() ?? 0;
  if (policy === "on-failure") setOnFailure(String(attempts), most ?? value, service);
  else {
    service.set("restart_policy", policy, value.place);
    if (policy === "always" && attempts > 0)
      most?.refuse("counts failures only, as engines do.", "Write `condition: on-failure` beside it.");
  }
}

/** The list `gpus`, or the word `all`. */
export const convertGpus: Converter = (value, service) => {
  if (value.isList) for (const item of value.items()) convertGpu(item, service);
  else if (value.text() === "all") service.set("gpus", "all", value.place);
  else value.refuse("must be all, or a list of devices.");
};

function convertGpu(value: Value, service: ServiceDraft): void {
  const fields = value.fields();
  refuseUnknown(fields, ["capabilities", "count", "device_ids", "driver", "options"]);
  fields.get("options")?.refuse("is not supported.", "Remove it.");
  const capabilities = fields.get("capabilities")?.textOrTexts() ?? ["gpu"];
  if (!capabilities.includes("gpu")) {
    value.refuse("can only ask for the capability gpu.", "Name other devices under `devices` of the service.");
    return;
  }
  const ids = fields.get("device_ids")?.textOrTexts();
  const count = fields.get("count");
  if (ids) service.set("gpus", { ids }, value.place);
  else if (!count || count.text() === "all" || count.text() === "-1") service.set("gpus", "all", value.place);
  else count.refuse("is not supported.", "Name the GPUs with `device_ids`, or write all.");
}

export const convertUlimits: Converter = (value, service) => {
  for (const [name, item] of value.fields()) {
    if (!item.isMap) {
      const soft = item.wholeNumber();
      if (soft !== undefined) service.append("ulimits", { name, soft }, item.place);
      continue;
    }
    const fields = item.fields();
    refuseUnknown(fields, ["soft", "hard"]);
    const [soft, hard] = [fields.get("soft")?.wholeNumber(), fields.get("hard")?.wholeNumber()];
    if (soft === undefined || hard === undefined) item.refuse("needs `soft` and `hard`.");
    else service.append("ulimits", { name, soft, hard }, item.place);
  }
};

/** Options of `json-file` and `local` about what is written beside the lines, and how fast. */
const WITHOUT_EFFECT = new Set([
  "compress",
  "env",
  "env-regex",
  "labels",
  "labels-regex",
  "max-buffer-size",
  "mode",
  "tag",
]);

const ON_DEVICE = "the log is kept as that of every app, in files of bounded size, which `edgectl apps logs` shows";

/** Whether a driver writes files, to whose size the options belong. An app notices of none where its lines go. */
function isFileDriver(driver: Value, options: Value | undefined): boolean {
  const name = driver.text();
  if (name === undefined || name === "json-file" || name === "local") return true;
  const isLocal = name === "journald" || (name === "syslog" && !options?.fields().has("syslog-address"));
  if (name === "none") driver.note(`is not so here: ${ON_DEVICE}. An app's last lines say why it failed.`);
  else if (isLocal) driver.note(`is not used: ${ON_DEVICE}, and the device's own log does not have it.`);
  else {
    driver.refuse(
      `is not supported: nothing is sent from here by ${name}, and ${ON_DEVICE}.`,
      "Remove it, or let the program of the service send its log itself.",
    );
  }
  return false;
}

export const convertLogging: Converter = (value, service) => {
  const fields = value.fields();
  refuseUnknown(fields, ["driver", "options"]);
  const [driver, options] = [fields.get("driver"), fields.get("options")];
  if (driver && !isFileDriver(driver, options)) return;
  const known = options?.fields() ?? new Map<string, Value>();
  for (const [key, part] of known) {
    if (key === "max-size" || key === "max-file") continue;
    if (WITHOUT_EFFECT.has(key))
      part.note("has no effect here: the log has the app's lines, and the bounds of max-size.");
    else refuseUnknown(new Map([[key, part]]), ["max-size", "max-file", ...WITHOUT_EFFECT]);
  }
  const [size, count] = [known.get("max-size"), known.get("max-file")];
  if (!size) count?.refuse("needs `max-size` too.");
  if (!size) return;
  const bytes = sizeOf(size.text() ?? "") ?? size.refuse("must be a size, such as 10m.");
  const files = count?.wholeNumber();
  if (bytes === undefined) return;
  // Engines keep one file where only its size is given.
  service.set("log", { max_bytes: bytes, max_files: files ?? 1 }, value.place);
};
