import type { AppliedApp } from "../../../protocol/apply.ts";
import { fieldsInForce, KNOWN_FIELDS } from "../../../protocol/fields-in-force.ts";
import type { RevisionDiff } from "../../../protocol/revision.ts";
import { nameOf, type RevisionContent, type RevisionEntry } from "./goal.ts";

type AppDiff = RevisionDiff["apps"][number];

/** What identifies an entry of a list, for the lists whose entries have a name of their own. */
const IDENTITY: Readonly<Record<string, string>> = {
  environments: "key",
  volumes: "target",
  files: "target",
  tmpfs: "target",
  devices: "local",
};

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

function diffApps(before: AppliedApp, after: AppliedApp): string[] {
  const [one, other] = [withFiles(before), withFiles(after)];
  return ["files", ...KNOWN_FIELDS.filter((field) => field !== "files")].flatMap((field) => {
    if (isSame(one[field], other[field])) return [];
    const identity = IDENTITY[field];
    return identity === undefined ? [field] : diffEntries(field, identity, one[field], other[field]);
  });
}

/** Files are compared as they were requested, with their contents. */
function withFiles({ files = [], ...app }: AppliedApp): Readonly<Record<string, unknown>> {
  return { ...fieldsInForce(app), ...(files.length > 0 && { files }) };
}

/** Names the entries that differ; the list itself if it is only their order. */
function diffEntries(field: string, identity: string, before: unknown, after: unknown): string[] {
  const [one, other] = [entriesBy(identity, before), entriesBy(identity, after)];
  const names = [...new Set([...one.keys(), ...other.keys()])];
  const changed = names.filter((name) => !isSame(one.get(name), other.get(name)));
  return changed.length === 0 ? [field] : changed.toSorted().map((name) => `${field}.${name}`);
}

function entriesBy(identity: string, list: unknown): ReadonlyMap<string, unknown> {
  const entries = Array.isArray(list) ? (list as readonly Readonly<Record<string, unknown>>[]) : [];
  return new Map(entries.map((entry) => [String(entry[identity]), entry]));
}

function isSame(one: unknown, other: unknown): boolean {
  return textOf(one) === textOf(other);
}

/** Returns the value as text in which the order of an object's fields does not matter. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}
