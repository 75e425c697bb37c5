import { type AppFile, appFileUpdates } from "../../../protocol/apps/app-files.ts";
import type { AppReport } from "../../../protocol/apps/app-report.ts";
import type { AppliedApp } from "../../../protocol/apps/apply.ts";
import {
  type AppDocument,
  entriesByKey,
  entriesOf,
  fieldsInForce,
  KNOWN_FIELDS,
} from "../../../protocol/apps/fields-in-force.ts";
import { parseImageReference } from "../../../protocol/apps/image-reference.ts";
import type { RevisionDiff } from "../../../protocol/fleets/revision.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { nameOf, type RevisionContent, type RevisionEntry } from "./fleet.ts";

type AppDiff = RevisionDiff["apps"][number];
type Entry = Readonly<Record<string, unknown>>;
type Entries = ReadonlyMap<string, Entry>;

/** Returns what differs between two revisions, by the names of apps and fields. Never has values. */
export function diffRevisions(from: RevisionContent, to: RevisionContent): readonly AppDiff[] {
  const [before, after] = [byName(from), byName(to)];
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return names.map((app) => Object.assign({ app }, changeOf(before.get(app), after.get(app))));
}

function byName({ apps }: RevisionContent): ReadonlyMap<string, RevisionEntry> {
  return new Map(apps.map((entry) => [nameOf(entry), entry]));
}

function changeOf(before: RevisionEntry | undefined, after: RevisionEntry | undefined): Omit<AppDiff, "app"> {
  if (after === undefined) return { change: "not_named", fields: [] };
  if ("absent" in after) return { change: before && "absent" in before ? "same" : "removed", fields: [] };
  if (before === undefined || "absent" in before) return { change: "added", fields: [] };
  const dependencies = isSame(before.depends_on, after.depends_on) ? [] : ["depends_on"];
  const fields = [...diffApps(before.app, after.app), ...dependencies];
  return { change: fields.length === 0 ? "same" : "changed", fields };
}

function diffApps(from: AppliedApp, to: AppliedApp): string[] {
  const [one, other] = [withFiles(from), withFiles(to)];
  return ["files", ...KNOWN_FIELDS.filter((field) => field !== "files")].flatMap((field) => {
    if (isSame(one[field], other[field])) return [];
    const [before, after] = [entriesByKey(field, one[field]), entriesByKey(field, other[field])];
    return before && after ? diffEntries(field, before, after) : [field];
  });
}

/** Files are compared as they were requested, with their contents. */
function withFiles({ files = [], ...app }: AppliedApp): Readonly<Record<string, unknown>> {
  return { ...fieldsInForce(app), ...(files.length > 0 && { files }) };
}

/** Names the entries that differ; the list itself if it is only their order. */
function diffEntries(field: string, before: Entries, after: Entries): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const changed = names.filter((name) => !isSame(before.get(name), after.get(name)));
  return changed.length === 0 ? [field] : changed.toSorted().map((name) => `${field}.${name}`);
}

function isSame(one: unknown, other: unknown): boolean {
  return textOf(one) === textOf(other);
}

/** The group of the app is the fleet's, and `pull` does not say what runs. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["image", "project", "pull"]);

const COMPARED = KNOWN_FIELDS.filter((name) => !NOT_COMPARED.has(name));

/** Returns in what an app's specification differs from what its device reports; `undefined`: in nothing. */
export function compareSpec(app: AppliedApp, report: AppReport): string | undefined {
  if (!runsImage(app.image, report)) return `${app.name} has another image: ${report.image}`;
  // Left out of reports that would be too large.
  if (Object.keys(report.spec).length === 0) return undefined;
  const [wanted, found] = [textsOf(app), textsOf(report.spec)];
  const fields = COMPARED.filter((name) => wanted.get(name) !== found.get(name));
  return fields.length === 0 ? undefined : `${app.name} differs in ${fields.join(", ")}`;
}

type Texts = ReadonlyMap<string, string | undefined>;

/** Most specifications whose texts are kept, and the length of the longest. Devices of a fleet report the same ones. */
const MAX_KEPT_TEXTS = 256;
const MAX_KEPT_LENGTH = 16_384;
const KEPT_TEXTS = new Map<string, Texts>();

/** Returns the fields of an app as they are compared, by name. */
function textsOf(app: AppDocument): Texts {
  const key = JSON.stringify(app);
  const known = KEPT_TEXTS.get(key);
  if (known) return known;
  const fields = comparable(app);
  const texts = new Map(COMPARED.map((name) => [name, textOf(fields[name])]));
  if (KEPT_TEXTS.size >= MAX_KEPT_TEXTS) KEPT_TEXTS.clear();
  if (key.length <= MAX_KEPT_LENGTH) KEPT_TEXTS.set(key, texts);
  return texts;
}

/** The same digest is the same image, whatever tag it was deployed by. */
function runsImage(image: string, report: AppReport): boolean {
  const digest = parseImageReference(image)?.digest;
  return report.image === image || (digest !== undefined && report.image_digest === digest);
}

function comparable(app: AppDocument): AppDocument {
  const fields = fieldsInForce({ ...app, files: filesOf(app["files"]) });
  const environments = entriesOf(fields["environments"]).map(({ key, secret }) => [key, secret === true]);
  return { ...fields, environments, files: entriesOf(fields["files"]).map(comparableFile) };
}

/** Brings the files of a request to the form of reports; the hash is not known. */
function filesOf(files: unknown): unknown {
  const requested = appFileUpdates.safeParse(files);
  if (!requested.success) return files ?? [];
  return requested.data.map(describeFile);
}

function describeFile({ target, mode, owner, secret }: AppFile): Entry {
  const group = owner?.includes(":") === false ? `:${owner}` : "";
  return {
    target: normalizePath(target),
    size: 0,
    mode: (mode ?? (secret ? "400" : "444")).padStart(4, "0"),
    ...(owner !== undefined && { owner: `${owner}${group}` }),
    ...(secret === true && { secret }),
  };
}

function comparableFile({ target, mode, owner, secret }: Entry): Entry {
  return { target, mode, owner, secret: secret === true };
}

/** Returns the value as text in which the order of an object's fields does not matter. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}
