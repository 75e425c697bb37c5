import { isDeepStrictEqual } from "node:util";
import type { RolloutStrategy } from "../../protocol/fleets/rollout-strategy.ts";
import type { Fleet, RevisionDetails } from "../api/fleets.ts";
import { diffApp, type FieldChange } from "../apply/diff.ts";
import { type AppDocument, entriesOf } from "../../protocol/apps/fields-in-force.ts";
import { appFileUpdates, type StoredFile } from "../../protocol/apps/app-files.ts";
import { describeFiles } from "../deploy/app-files.ts";
import type { AppPlan } from "../apply/plan.ts";
import type { FleetFile, RevisionApp } from "./fleet-file.ts";

/** What a file does to a fleet. */
export interface FleetPlan {
  readonly fleet: string;
  readonly change: "create" | "update" | "none";
  /** Of the fleet itself. */
  readonly fields: readonly FieldChange[];
  /** Of the apps, compared with the newest revision. */
  readonly apps: readonly AppPlan[];
  /** Of the version that is asked of the agent, compared with the newest revision. */
  readonly agent: readonly FieldChange[];
  /** Whether the service is asked for a revision. It makes none if nothing differs after all. */
  readonly asks_for_revision: boolean;
}

/** @param current what there is; `undefined` for a new fleet */
export function planFleet(
  file: FleetFile,
  current: { readonly fleet: Fleet; readonly newest: RevisionDetails | undefined } | undefined,
): FleetPlan {
  const { fleet } = file;
  const gone = removedApps(current?.newest);
  const fields = diffFields(fieldsOf(fleet), currentFields(current?.fleet)).map((each) => withNote(each, gone));
  const apps = planApps(file, current?.newest, gone);
  const agent = diffFields(agentFields(file.agentVersion), agentFields(current?.newest?.agent?.version));
  const asks = agent.length > 0 || apps.some(({ change, fields: changed }) => change !== "none" || changed.length > 0);
  const change = current === undefined ? "create" : fields.length > 0 ? "update" : "none";
  return { fleet: fleet.name, change, fields, apps, agent, asks_for_revision: asks };
}

function agentFields(version: string | undefined): ReadonlyMap<string, unknown> {
  return version === undefined ? new Map() : new Map([["version", version]]);
}

function currentFields(fleet: Fleet | undefined): ReadonlyMap<string, unknown> {
  return fleet ? fieldsOf(fleet) : new Map();
}

function fieldsOf({
  selector,
  apps,
  strategy,
  on_drift: onDrift,
}: Pick<Fleet, "selector" | "apps" | "on_drift"> & {
  readonly strategy: RolloutStrategy | Fleet["strategy"];
}): ReadonlyMap<string, unknown> {
  const parts = Object.entries(strategy).map(([name, value]) => [`strategy.${name}`, value] as const);
  return new Map<string, unknown>([["selector", selector], ["apps", apps.toSorted()], ["on_drift", onDrift], ...parts]);
}

function diffFields(next: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): FieldChange[] {
  return [...new Set([...next.keys(), ...before.keys()])].flatMap((field): FieldChange[] => {
    const [old, value] = [before.get(field), next.get(field)];
    if (isDeepStrictEqual(old, value)) return [];
    if (old === undefined) return [{ field, change: "add", new: value }];
    if (value === undefined) return [{ field, change: "remove", old }];
    return [{ field, change: "change", old, new: value }];
  });
}

/** The apps that the revision removes from devices. */
function removedApps(newest: RevisionDetails | undefined): ReadonlySet<unknown> {
  return new Set((newest?.entries ?? []).flatMap(({ name, absent }) => (absent === true ? [name] : [])));
}

/** Says what becomes of apps that the fleet gives up. */
function withNote(change: FieldChange, gone: ReadonlySet<unknown>): FieldChange {
  const { field, old, new: next } = change;
  if (field !== "apps" || !Array.isArray(old) || !Array.isArray(next)) return change;
  const left: unknown[] = old.filter((name) => !next.includes(name));
  const notes = [left.filter((name) => !gone.has(name)), left.filter((name) => gone.has(name))].flatMap((names) =>
    names.length === 0 ? [] : [`${names.join(", ")}: ${unnamedNote(names[0], gone)}, and belongs to no fleet`],
  );
  return notes.length === 0 ? change : { ...change, note: notes.join("; ") };
}

/** Says what becomes of an app that a revision does not name: it stays as it is, on each device. */
function unnamedNote(name: unknown, gone: ReadonlySet<unknown>): string {
  return gone.has(name) ? "is no longer removed from devices" : "stays on devices";
}

function planApps(
  { apps, absent }: FleetFile,
  newest: RevisionDetails | undefined,
  gone: ReadonlySet<unknown>,
): AppPlan[] {
  const before = new Map((newest?.entries ?? []).flatMap((entry) => toEntries(entry, newest)));
  const planned = apps.map((entry): AppPlan => {
    const old = before.get(entry.app.name);
    const fields = diffEntry(old, entry);
    const change = old === undefined ? "create" : fields.length === 0 ? "none" : "update";
    return { app: entry.app.name, change, fields, unknown_fields: [] };
  });
  const removed = absent.map((name): AppPlan => {
    const isNew = !gone.has(name);
    const fields: FieldChange[] = isNew ? [{ field: "absent", change: "add", note: "removed from devices" }] : [];
    return { app: name, change: isNew ? "update" : "none", fields, unknown_fields: [] };
  });
  const named = new Set([...apps.map(({ app }) => app.name), ...absent]);
  const dropped = [...before.keys(), ...gone].filter((name) => typeof name === "string" && !named.has(name));
  const unnamed = dropped.map((name): AppPlan => {
    const field: FieldChange = { field: "app", change: "remove", note: `not in the file; ${unnamedNote(name, gone)}` };
    return { app: String(name), change: "update", fields: [field], unknown_fields: [] };
  });
  return [...planned, ...removed, ...unnamed];
}

/** Returns an app of the newest revision by its name, with its image as it was written; nothing for one that is absent. */
function toEntries(entry: Readonly<Record<string, unknown>>, newest: RevisionDetails | undefined) {
  const { app, depends_on: dependsOn } = entry;
  if (typeof app !== "object" || app === null || !("name" in app) || typeof app.name !== "string") return [];
  const { name } = app;
  const image = newest?.apps.find((each) => each.name === name)?.written_image;
  const spec: AppDocument = { ...app, ...(typeof image === "string" && { image }) };
  return [[name, { spec, dependsOn: Array.isArray(dependsOn) ? dependsOn : [] }] as const];
}

function diffEntry(
  old: { readonly spec: AppDocument; readonly dependsOn: readonly unknown[] } | undefined,
  { app, depends_on: next }: RevisionApp,
): FieldChange[] {
  const { files: oldFiles, ...before } = old?.spec ?? {};
  const { files: nextFiles, ...after } = app;
  const fields = diffApp(before, after, { showValues: false }).map(forFleet);
  const dependencies = diffFields(mapOf("depends_on", next), mapOf("depends_on", old?.dependsOn));
  const tag = old && !fields.some(({ field }) => field === "image") && isTag(app.image) ? [TAG_CHECK] : [];
  return [...tag, ...fields, ...diffFiles(oldFiles, nextFiles), ...dependencies];
}

/** Returns a map with the field, unless it has no value or is an empty list. */
function mapOf(field: string, value: unknown): ReadonlyMap<string, unknown> {
  const isAbsent = value === undefined || (Array.isArray(value) && value.length === 0);
  return isAbsent ? new Map() : new Map([[field, value]]);
}

const TAG_CHECK: FieldChange = { field: "image", change: "check", note: "the service asks what the tag means now" };
const SERVICE_COMPARES = "the service compares it";

function isTag(image: unknown): boolean {
  return typeof image === "string" && !image.includes("@");
}

/** Notes that are true of a fleet: no device is asked, and nothing reveals values. */
function forFleet(change: FieldChange): FieldChange {
  if (change.note === undefined) return change;
  if (change.change === "check") return { ...change, note: `a secret; ${SERVICE_COMPARES}` };
  return { ...change, note: change.note === "secret" ? "secret" : "value not shown" };
}

/** The service does not return contents of files, nor their hashes. */
function diffFiles(before: unknown, after: unknown): FieldChange[] {
  const requested = appFileUpdates.safeParse(after);
  const next = requested.success ? describeFiles(requested.data).map(withoutHash) : [];
  const old = describedFiles(before);
  const targets = new Set([...old.keys(), ...next.map(({ target }) => String(target))]);
  return [...targets].flatMap((target): FieldChange[] => {
    const file = next.find((each) => each.target === target);
    const field = `files.${target}`;
    const changes = diffFields(mapOf(field, file), mapOf(field, old.get(target)));
    return changes.length > 0 ? changes : [{ field, change: "check", note: SERVICE_COMPARES }];
  });
}

/** Files of a revision, with the modes that they get by default. */
function describedFiles(files: unknown): Map<string, unknown> {
  return new Map(
    entriesOf(files).map(({ size, ...file }) => {
      const described = appFileUpdates.safeParse([file]);
      const [whole] = described.success ? describeFiles(described.data) : [];
      return [String(whole?.target ?? file["target"]), { ...withoutHash(whole ?? {}), size }];
    }),
  );
}

function withoutHash(file: Partial<StoredFile>): Partial<StoredFile> {
  const { sha256: _hash, ...rest } = file;
  return rest;
}
