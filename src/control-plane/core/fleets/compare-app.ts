import type { AppReport } from "../../../protocol/app-report.ts";
import { type AppFile, appFileUpdates } from "../../../protocol/app-files.ts";
import type { AppliedApp } from "../../../protocol/apply.ts";
import { type AppDocument, fieldsInForce, KNOWN_FIELDS } from "../../../protocol/fields-in-force.ts";
import { parseImageReference } from "../../../protocol/image-reference.ts";
import { normalizePath } from "../../../protocol/normalize-path.ts";
import type { ReportFacts } from "./facts.ts";
import { fleetMark } from "./fleet-mark.ts";
import { type Goal, nameOf } from "./goal.ts";

/** The group of the app is the fleet's, and `pull` does not say what runs. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["image", "project", "pull"]);

const COMPARED = KNOWN_FIELDS.filter((name) => !NOT_COMPARED.has(name));

type Entry = Readonly<Record<string, unknown>>;

/** Who changed an app, as far as its device knows. */
export type ChangedBy = NonNullable<AppReport["changed"]>["by"];

/** How an app on a device differs from what a revision says of it. */
export interface Difference {
  readonly app: string;
  /**
   * `stopped`: a person has stopped it. `missing`: it is not there. `changed`: the device says that it was changed by other means
   * than the fleet, or it is there although it is to be absent. `differs`: its specification is another one, on a device that says nothing
   * about fleets. `revision`: it is unchanged from another revision of the fleet.
   */
  readonly kind: "stopped" | "missing" | "changed" | "differs" | "revision";
  /** For people, without values: `web was stopped`. */
  readonly what: string;
  readonly by: ChangedBy | undefined;
  /** When it was changed, Unix milliseconds; `undefined` if the device does not know. */
  readonly sinceMs: number | undefined;
}

/** Returns how the apps differ from the goal, in the order of its apps; none if they do not, as far as the report tells. */
export function compareApps(goal: Goal, { apps, removals = [] }: Reported): readonly Difference[] {
  return goal.apps.flatMap((entry) => {
    const name = nameOf(entry);
    const found = apps.find((app) => app.name === name);
    if ("absent" in entry) return compareAbsent(goal, name, found) ?? [];
    return (found ? compareApp(goal, entry.app, found) : missing(name, removals)) ?? [];
  });
}

type Reported = Pick<ReportFacts, "apps" | "removals">;

function missing(app: string, removals: NonNullable<Reported["removals"]>): Difference {
  const removal = removals.find(({ name }) => name === app);
  if (!removal) return { app, kind: "missing", what: `${app} is not there`, by: undefined, sinceMs: undefined };
  const sinceMs = removal.since === undefined ? undefined : removal.since * 1000;
  return { app, kind: "missing", what: `${app} was removed`, by: removal.by, sinceMs };
}

function compareAbsent(goal: Goal, app: string, found: AppReport | undefined): Difference | undefined {
  if (found === undefined) return undefined;
  const mark = fleetMark(found);
  const isOfFleet = mark?.name === goal.fleet && !mark.isChanged;
  return { app, kind: isOfFleet ? "revision" : "changed", what: `${app} is there`, ...changeOf("changed", found) };
}

/**
 * A device that knows fleets says itself which revision an app is from and whether it was changed since. For others the
 * specifications are compared, without the values of environments and the contents of files, which reports do not have.
 */
function compareApp(goal: Goal, wanted: AppliedApp, found: AppReport): Difference | undefined {
  const app = wanted.name;
  const differs = (kind: Difference["kind"], what: string): Difference => ({
    app,
    kind,
    what,
    ...changeOf(kind, found),
  });
  if (found.desired_state === "stopped") return differs("stopped", `${app} was stopped`);
  const byHand = (): Difference => {
    const fields = found.changed?.what?.join(", ");
    return differs("changed", `${app} was changed on the device${fields === undefined ? "" : ` (${fields})`}`);
  };
  // Another tool has replaced its container: what the device says of the app itself is not what runs.
  if (found.changed?.by === "foreign") return byHand();
  const mark = fleetMark(found);
  if (mark === undefined) {
    const what = compareSpec(wanted, found);
    return what === undefined ? undefined : differs("differs", what);
  }
  if (mark.name !== goal.fleet) return differs("changed", `${app} is from the fleet ${mark.name}`);
  if (mark.isChanged) return byHand();
  if (mark.revision === goal.revision) return undefined;
  return { app, kind: "revision", what: `${app} is from revision ${mark.revision}`, by: undefined, sinceMs: undefined };
}

const LOCAL_DEPLOYMENT = "local-";

/**
 * Returns who has changed an app, and when: what its device says of that, or the deployment that it has had last, if that can have
 * been the one.
 */
function changeOf(kind: Difference["kind"], report: AppReport): Pick<Difference, "by" | "sinceMs"> {
  const { changed, last_deployment: last, fleet } = report;
  if (changed) return { by: changed.by, sinceMs: changed.since === undefined ? undefined : changed.since * 1000 };
  const isOne = kind === "stopped" ? last?.action === "stop" : last?.action === "update" || last?.action === "deploy";
  // The fleet's own have the id of its apply, with a number.
  if (!last || !isOne || last.status !== "Success" || last.deployment_id.split(".", 1)[0] === fleet?.deployment_id)
    return { by: undefined, sinceMs: undefined };
  const by = last.deployment_id.startsWith(LOCAL_DEPLOYMENT) ? "local" : "api";
  return { by, sinceMs: last.finished_at === null ? undefined : last.finished_at * 1000 };
}

function compareSpec(app: AppliedApp, report: AppReport): string | undefined {
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

function entriesOf(value: unknown): readonly Entry[] {
  return Array.isArray(value)
    ? value.filter((entry): entry is Entry => typeof entry === "object" && entry !== null)
    : [];
}

/** Returns the value as text in which the order of an object's fields does not matter. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}
