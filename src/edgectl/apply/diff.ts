import { appSpecSchema } from "../../protocol/apps/app-spec.ts";
import { appFileUpdates } from "../../protocol/apps/app-files.ts";
import {
  type AppDocument,
  entriesByKey,
  entriesOf,
  fieldsInForce as knownFieldsInForce,
  KNOWN_FIELDS,
} from "../../protocol/apps/fields-in-force.ts";
import { describeFiles } from "../deploy/app-files.ts";
import { isDeepStrictEqual } from "node:util";
import { MASK } from "../../lib/redact.ts";
import { secretTexts, withoutSecretParts, withSecretTextsMasked } from "../../protocol/apps/secret-texts.ts";

/** Returns the fields of an app that differ from their defaults. Fields that this version does not know are left out. */
export function fieldsInForce(app: AppDocument): AppDocument {
  return knownFieldsInForce(describedFiles(app));
}

/** Files of a request are described as the device reports them. */
function describedFiles(app: AppDocument): AppDocument {
  const requested = appFileUpdates.safeParse(app["files"]);
  return requested.success ? { ...app, files: describeFiles(requested.data) } : app;
}

/** Returns the names of the fields that an app has and this version does not know. */
export function unknownFields(app: AppDocument): string[] {
  return Object.keys(app).filter((field) => !Object.hasOwn(appSpecSchema.shape, field) && app[field] !== null);
}

type Entry = Readonly<Record<string, unknown>>;
type Entries = ReadonlyMap<string, Entry>;

/** One difference between an app and its file. */
export interface FieldChange {
  /** Such as `memory_limit`, `healthcheck.retries` or `environments.TZ`. */
  readonly field: string;
  /** `check`: only the device can tell whether it differs. */
  readonly change: "add" | "change" | "remove" | "check";
  /** Absent where there is none, and where it is not to be shown. */
  readonly old?: unknown;
  readonly new?: unknown;
  /** What the values do not say. */
  readonly note?: string;
}

export interface DiffOptions {
  /** Includes the values of variables that are not declared secrets. */
  readonly showValues: boolean;
}

/** Fields that are compared by their own fields. */
const OBJECTS = new Set(["healthcheck", "sysctls", "labels", "log"]);

/**
 * Returns what must change for an app to be as desired, in the order of the specification. Omitted fields and their
 * defaults are equal, and the order of a list's entries is not compared. An app stays in the project that it was applied
 * with. @param current `{}` for a new app
 */
export function diffApp(current: AppDocument, desired: AppDocument, options: DiffOptions): FieldChange[] {
  const [before, after] = [current, desired].map((app) => fieldsInForce(withSecretsMasked(app, desired))) as [
    AppDocument,
    AppDocument,
  ];
  return KNOWN_FIELDS.flatMap((field) => {
    const [old, next] = [before[field], after[field]];
    if (field === "project" && next === undefined) return [];
    const [entries, nextEntries] = [entriesByKey(field, old), entriesByKey(field, next)];
    if (entries && nextEntries) {
      if (field === "environments") return diffVariables(entries, nextEntries, options);
      return field === "files" ? diffFiles(entries, nextEntries) : diffEntries(field, entries, nextEntries);
    }
    if (OBJECTS.has(field)) return diffEntries(field, fieldsOf(old), fieldsOf(next));
    const changes = diffValue(field, old, next);
    if (field === "image" && changes.length === 0 && asksRegistry(desired)) return [IMAGE_CHECK];
    return changes;
  });
}

/**
 * Brings an app to the form in which a device reports one: secrets of the file are masked in commands and labels, and a
 * variable with one in its value is a secret.
 */
function withSecretsMasked(app: AppDocument, file: AppDocument): AppDocument {
  const secrets = secretTexts(entriesOf(file["environments"]));
  const environments = entriesOf(app["environments"]);
  const masked = withSecretTextsMasked(app, secrets);
  return environments.length === 0 ? masked : { ...masked, environments: withoutSecretParts(environments, secrets) };
}

/** Whether the file wants the registry to be asked what the image's tag means now, also where nothing else differs. */
export function asksRegistry({ pull }: AppDocument): boolean {
  return pull === "changed" || pull === "always";
}

const IMAGE_CHECK: FieldChange = {
  field: "image",
  change: "check",
  note: "the device asks the registry, as `pull` says",
};

function diffEntries(
  field: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): FieldChange[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key) => diffValue(`${field}.${key}`, before.get(key), after.get(key)));
}

/** Contents are compared by their hashes, which the device does not report of secrets. */
function diffFiles(old: Entries, next: Entries): FieldChange[] {
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((key): FieldChange[] => {
    const changes = diffValue(`files.${key}`, old.get(key), next.get(key));
    const isSecret = old.get(key)?.["secret"] === true && next.get(key)?.["secret"] === true;
    if (changes.length > 0 || !isSecret) return changes;
    return [{ field: `files.${key}`, change: "check", note: "a secret; the device compares it" }];
  });
}

function diffValue(field: string, old: unknown, next: unknown): FieldChange[] {
  if (isDeepStrictEqual(old, next)) return [];
  if (old === undefined) return [{ field, change: "add", new: next }];
  if (next === undefined) return [{ field, change: "remove", old }];
  return [{ field, change: "change", old, new: next }];
}

function diffVariables(old: Entries, next: Entries, options: DiffOptions): FieldChange[] {
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((key) =>
    diffVariable(`environments.${key}`, old.get(key), next.get(key), options),
  );
}

function diffVariable(
  field: string,
  old: Entry | undefined,
  next: Entry | undefined,
  { showValues }: DiffOptions,
): FieldChange[] {
  const isSecret = old?.["secret"] === true || next?.["secret"] === true;
  const shown = (changes: FieldChange[]): FieldChange[] =>
    showValues && !isSecret ? changes : changes.map(withoutValues).map((change) => withNote(change, isSecret));
  if (!old || !next) return shown(diffValue(field, old?.["value"], next?.["value"]));
  const declared = diffValue(`${field}.secret`, old["secret"] ?? false, next["secret"] ?? false);
  if (next["value"] === MASK) return declared;
  // The device never returns a declared secret.
  if (old["value"] === MASK) return [{ field, change: "check", note: "a secret; the device compares it" }, ...declared];
  return [...shown(diffValue(field, old["value"], next["value"])), ...declared];
}

function withoutValues({ field, change }: FieldChange): FieldChange {
  return { field, change };
}

function withNote(change: FieldChange, isSecret: boolean): FieldChange {
  return { ...change, note: isSecret ? "secret" : "value not shown; --reveal shows it" };
}

function fieldsOf(value: unknown): Map<string, unknown> {
  return new Map(typeof value === "object" && value !== null ? Object.entries(value) : []);
}
