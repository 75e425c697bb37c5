import { appSpecSchema, type AppSpec } from "./app-spec.ts";
import { canonicalOptions } from "./canonical-options.ts";
import { containerOptions } from "./container-options.ts";
import { normalizePath } from "../values/normalize-path.ts";

/** An app's specification as the service returns it. Values of variables may be masked. */
export type AppDocument = Readonly<Record<string, unknown>>;

type Entry = Readonly<Record<string, unknown>>;

/** The fields of an app that this version knows, in the order in which they are shown. `name` is never changed. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(appSpecSchema.shape).filter((field) => field !== "name");

/** The engine's choice without a restart policy. */
const DEFAULT_RESTART_POLICY = "unless-stopped";

/** Brings the entries of a list to the form in which an omitted field and its default are equal. */
const CANONICAL: Readonly<Record<string, (entry: Entry) => Entry>> = {
  environments: ({ secret, secret_parts: _never_returned, ...entry }) =>
    secret === true ? { ...entry, secret } : entry,
  ports: ({ protocol, ...entry }) => (protocol === undefined || protocol === "tcp" ? entry : { ...entry, protocol }),
  devices: ({ local, target = local, permissions }) => ({
    local: normalized(local),
    ...(normalized(target) !== normalized(local) && { target: normalized(target) }),
    ...(typeof permissions === "string" && permissions.length < 3 && { permissions: inOrder(permissions) }),
  }),
  volumes: ({ local, target, ...entry }) => ({
    ...(local !== undefined && { local: normalized(local) }),
    target: normalized(target),
    ...entry,
  }),
};

/** What tells one entry of a list from the others, of the lists whose entries are compared one by one. */
const IDENTITIES: Readonly<Record<string, (entry: Entry) => string>> = {
  environments: ({ key }) => String(key),
  files: ({ target }) => String(target),
  ports: ({ target_port, protocol = "tcp" }) => `${String(target_port)}/${String(protocol)}`,
  volumes: ({ target }) => String(target),
  devices: ({ local, target = local }) => String(target),
  tmpfs: ({ target }) => String(target),
  ulimits: ({ name }) => String(name),
  extra_hosts: ({ name }) => String(name),
};

/**
 * Returns the fields of an app that differ from their defaults, in the form in which equal fields are equal. Fields that this
 * version does not know are left out. Files must be described as the device reports them.
 */
export function fieldsInForce(app: AppDocument): AppDocument {
  const known = Object.fromEntries(Object.entries(app).filter(([field]) => Object.hasOwn(appSpecSchema.shape, field)));
  const parsed = appSpecSchema.safeParse(known);
  const filled: AppDocument = parsed.success ? withCanonicalOptions(parsed.data) : known;
  const entries = KNOWN_FIELDS.map((field) => [field, canonical(field, filled[field])] as const);
  return Object.fromEntries(entries.filter(([field, value]) => !isDefault(field, value)));
}

function withCanonicalOptions(spec: AppSpec): AppDocument {
  const others = Object.entries(spec).filter(([field]) => !Object.hasOwn(containerOptions, field));
  return { ...Object.fromEntries(others), ...canonicalOptions(spec) };
}

/**
 * Returns the entries of a list by what identifies them; `undefined` if the field is compared whole. Further entries of one
 * key, as two host ports of one port, get a number.
 */
export function entriesByKey(field: string, value: unknown): ReadonlyMap<string, Entry> | undefined {
  const identify = IDENTITIES[field];
  if (identify === undefined) return undefined;
  const found = new Map<string, Entry>();
  for (const entry of entriesOf(value).toSorted((one, other) => compare(JSON.stringify(one), JSON.stringify(other)))) {
    const key = identify(entry);
    let unused = key;
    for (let number = 2; found.has(unused); number++) unused = `${key}#${number}`;
    found.set(unused, entry);
  }
  return found;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** The entries of a list as objects. */
export function entriesOf(value: unknown): Entry[] {
  if (!Array.isArray(value)) return [];
  return value.filter((entry): entry is Entry => typeof entry === "object" && entry !== null);
}

function canonical(field: string, value: unknown): unknown {
  const convert = CANONICAL[field];
  return convert && Array.isArray(value) ? entriesOf(value).map(convert) : value;
}

function isDefault(field: string, value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  if (Array.isArray(value) && value.length === 0) return true;
  return field === ("restart_policy" satisfies keyof AppSpec) && value === DEFAULT_RESTART_POLICY;
}

function inOrder(permissions: string): string {
  return ["r", "w", "m"].filter((letter) => permissions.includes(letter)).join("");
}

function normalized(path: unknown): unknown {
  return typeof path === "string" ? normalizePath(path) : path;
}
