import type { AppDeploymentRequest, AppUpdateRequest } from "../../../protocol/api-types.ts";

/** The form of an app as it is typed: every value is a text until the request is made. */
export interface AppForm {
  readonly name: string;
  readonly image: string;
  readonly ports: readonly PortRow[];
  readonly variables: readonly VariableRow[];
  readonly volumes: readonly VolumeRow[];
  /** Shell-like words: one argument on each line. */
  readonly command: string;
  readonly memoryMb: string;
  readonly cpus: string;
  readonly restartPolicy: string;
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
  /** Further fields of the request, as JSON. */
  readonly others: string;
}

export interface PortRow {
  readonly id: number;
  readonly host: string;
  readonly target: string;
  readonly protocol: "tcp" | "udp";
  /** Fields of an installed app's port that the form does not have. */
  readonly kept?: object;
}

export interface VariableRow {
  readonly id: number;
  readonly key: string;
  readonly value: string;
  readonly isSecret: boolean;
  /** Of an installed app: the device has a value, which stays unless another one is typed. */
  readonly isKept: boolean;
}

export interface VolumeRow {
  readonly id: number;
  /** A path of the device if it begins with `/`, otherwise the name of a volume. */
  readonly source: string;
  readonly target: string;
  readonly isReadonly: boolean;
  /** Fields of an installed app's volume that the form does not have. */
  readonly kept?: object;
}

/** How the deployment is carried out. */
export interface DeliveryForm {
  readonly registryUser: string;
  readonly registryPassword: string;
  readonly maxDownloadMb: string;
  readonly isUrgent: boolean;
  readonly waitHours: string;
}

/** What is wrong with a field of the form. The path is that of the request's field. */
export interface FormIssue {
  readonly path: string;
  readonly reason: string;
}

export type Built<T> =
  | { readonly ok: true; readonly body: T }
  | { readonly ok: false; readonly issues: readonly FormIssue[] };

export const EMPTY_APP: AppForm = {
  name: "",
  image: "",
  ports: [],
  variables: [],
  volumes: [],
  command: "",
  memoryMb: "",
  cpus: "",
  restartPolicy: "",
  hostNetwork: false,
  privileged: false,
  others: "",
};

export const EMPTY_DELIVERY: DeliveryForm = {
  registryUser: "",
  registryPassword: "",
  maxDownloadMb: "",
  isUrgent: false,
  waitHours: "",
};

const BYTES_PER_MB = 1_000_000;
const SECONDS_PER_HOUR = 3600;

/** Fields of a request that the form has itself; they are not taken from `others`. */
export const FORM_FIELDS: ReadonlySet<string> = new Set([
  "name",
  "image",
  "ports",
  "environments",
  "volumes",
  "command",
  "memory_limit",
  "cpu_limit",
  "restart_policy",
  "host_network",
  "privileged",
]);
/** Fields of the whole request that say how it is carried out. */
const DELIVERY_FIELDS: ReadonlySet<string> = new Set([
  "registry_auth",
  "max_download_bytes",
  "urgent",
  "wait_for_device_s",
]);

/** Makes the request of a new app. What a value may be is decided by the service; here only its form. */
export function toDeployment(form: AppForm, delivery: DeliveryForm): Built<AppDeploymentRequest> {
  const issues: FormIssue[] = [];
  if (form.name.trim() === "") issues.push({ path: "name", reason: "is required" });
  if (form.image.trim() === "") issues.push({ path: "image", reason: "is required" });
  const spec = toSpec(form, issues);
  const options = toOptions(delivery, issues);
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, body: { ...spec, ...options } as unknown as AppDeploymentRequest };
}

/** Makes the request of an update: only the fields that differ from the installed app. */
export function toUpdate(form: AppForm, installed: AppForm, delivery: DeliveryForm): Built<AppUpdateRequest> {
  const issues: FormIssue[] = [];
  if (form.image.trim() === "") issues.push({ path: "image", reason: "is required" });
  const before = toSpec(installed, []);
  const after = toSpec(form, issues);
  const options = toOptions(delivery, issues);
  const changes: Record<string, unknown> = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (field === "name" || same(before[field], after[field])) continue;
    changes[field] = after[field] ?? (LISTS.has(field) ? [] : null);
  }
  // Without it the device would not ask what the image's tag means by now.
  if (Object.keys(changes).length === 0 && issues.length === 0) changes["image"] = form.image.trim();
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, body: { ...changes, ...options } as unknown as AppUpdateRequest };
}

const LISTS: ReadonlySet<string> = new Set(["ports", "environments", "volumes"]);

type Spec = Readonly<Record<string, unknown>>;

function toSpec(form: AppForm, issues: FormIssue[]): Spec {
  const { name, image, command, memoryMb, cpus, restartPolicy, hostNetwork, privileged } = form;
  const memory = decimal(memoryMb, "memory_limit", issues);
  const cpuLimit = decimal(cpus, "cpu_limit", issues);
  const args = command.split("\n").map((line) => line.trim());
  const words = args.filter((line) => line !== "");
  return {
    ...readOthers(form.others, issues),
    ...(name.trim() !== "" && { name: name.trim() }),
    ...(image.trim() !== "" && { image: image.trim() }),
    ...(form.ports.length > 0 && { ports: form.ports.map((row, index) => toPort(row, index, issues)) }),
    ...(form.variables.length > 0 && {
      environments: form.variables.map((row, index) => toVariable(row, index, issues)),
    }),
    ...(form.volumes.length > 0 && { volumes: form.volumes.map((row, index) => toVolume(row, index, issues)) }),
    ...(words.length > 0 && { command: words }),
    ...(memory !== undefined && { memory_limit: Math.round(memory * BYTES_PER_MB) }),
    ...(cpuLimit !== undefined && { cpu_limit: cpuLimit }),
    ...(restartPolicy !== "" && { restart_policy: restartPolicy }),
    ...(hostNetwork && { host_network: true }),
    ...(privileged && { privileged: true }),
  };
}

function toPort({ host, target, protocol, kept }: PortRow, index: number, issues: FormIssue[]): object {
  return {
    host_port: port(host, `ports.${index}.host_port`, issues),
    target_port: port(target, `ports.${index}.target_port`, issues),
    ...(protocol === "udp" && { protocol }),
    ...kept,
  };
}

function toVariable({ key, value, isSecret, isKept }: VariableRow, index: number, issues: FormIssue[]): object {
  if (key.trim() === "") issues.push({ path: `environments.${index}.key`, reason: "is required" });
  // A secret that is not typed anew keeps its value on the device.
  if (isSecret && isKept && value === "") return { key: key.trim(), secret: true };
  return { key: key.trim(), value, ...(isSecret && { secret: true }) };
}

function sourceOf(text: string): { local: string } | { name: string } | { external: string } {
  if (text.startsWith(EXTERNAL_PREFIX)) return { external: text.slice(EXTERNAL_PREFIX.length) };
  return text.startsWith("/") ? { local: text } : { name: text };
}

/** Before the name of a volume of the engine that the agent does not make, as `edgectl --volume` has it. */
export const EXTERNAL_PREFIX = "external:";

function toVolume({ source, target, isReadonly, kept }: VolumeRow, index: number, issues: FormIssue[]): object {
  const trimmed = source.trim();
  if (trimmed === "")
    issues.push({ path: `volumes.${index}.name`, reason: "is required: a path or the name of a volume" });
  if (target.trim() === "") issues.push({ path: `volumes.${index}.target`, reason: "is required" });
  return {
    ...sourceOf(trimmed),
    target: target.trim(),
    ...(isReadonly && { readonly: true }),
    ...kept,
  };
}

function toOptions(delivery: DeliveryForm, issues: FormIssue[]): Spec {
  const { registryUser, registryPassword, isUrgent } = delivery;
  const limit = decimal(delivery.maxDownloadMb, "max_download_bytes", issues);
  const hours = decimal(delivery.waitHours, "wait_for_device_s", issues);
  if (registryUser.trim() !== "" && registryPassword === "")
    issues.push({ path: "registry_auth.password", reason: "is required with a user name" });
  const user = registryUser.trim();
  return {
    ...(registryPassword !== "" && {
      registry_auth: user === "" ? { token: registryPassword } : { username: user, password: registryPassword },
    }),
    ...(limit !== undefined && { max_download_bytes: Math.round(limit * BYTES_PER_MB) }),
    ...(isUrgent && { urgent: true }),
    ...(hours !== undefined && { wait_for_device_s: Math.round(hours * SECONDS_PER_HOUR) }),
  };
}

function readOthers(text: string, issues: FormIssue[]): Spec {
  if (text.trim() === "") return {};
  const fields = parseObject(text);
  if (fields === undefined) {
    issues.push({ path: "others", reason: 'must be one JSON object, such as {"init": true}' });
    return {};
  }
  const own = Object.keys(fields).filter((name) => FORM_FIELDS.has(name) || DELIVERY_FIELDS.has(name));
  for (const name of own) issues.push({ path: "others", reason: `has ${name}, which has its own field in the form` });
  return fields;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported by the caller.
  }
  return undefined;
}

function port(text: string, path: string, issues: FormIssue[]): number {
  const trimmed = text.trim();
  if (!/^\d{1,5}$/.test(trimmed))
    issues.push({ path, reason: trimmed === "" ? "is required" : "must be a port number" });
  return Number(trimmed);
}

/** Reads a decimal number; a comma is accepted for the point. `undefined` where nothing is typed. */
function decimal(text: string, path: string, issues: FormIssue[]): number | undefined {
  const trimmed = text.trim().replace(",", ".");
  if (trimmed === "") return undefined;
  const value = /^\d+(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  if (!Number.isNaN(value)) return value;
  issues.push({ path, reason: "must be a number" });
  return undefined;
}

/** Compares values of JSON. The order of fields does not matter, that of lists does. */
function same(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, field: unknown) =>
    typeof field === "object" && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );
}
