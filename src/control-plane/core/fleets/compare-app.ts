import type { AppReport } from "../../../protocol/app-report.ts";
import { type AppFile, appFileUpdates } from "../../../protocol/app-files.ts";
import type { AppliedApp } from "../../../protocol/apply.ts";
import { type AppDocument, fieldsInForce, KNOWN_FIELDS } from "../../../protocol/fields-in-force.ts";
import { parseImageReference } from "../../../protocol/image-reference.ts";
import { normalizePath } from "../../../protocol/normalize-path.ts";
import { fleetMark } from "./fleet-mark.ts";
import type { Goal } from "./goal.ts";

/** The group of the app is the fleet's, and `pull` does not say what runs. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["image", "project", "pull"]);

type Entry = Readonly<Record<string, unknown>>;

/**
 * Returns how a reported app differs from its specification in a revision, for people and without values; `undefined` if it
 * does not, as far as the report tells.
 *
 * A device that knows fleets says itself which revision an app is from and whether it was changed since. For others the
 * specifications are compared, without the values of environments and the contents of files, which reports do not have.
 */
export function describeDrift(goal: Goal, app: AppliedApp, report: AppReport): string | undefined {
  const mark = fleetMark(report);
  if (mark !== undefined) {
    if (mark.name !== goal.fleet) return `${app.name} is from the fleet ${mark.name}`;
    if (mark.revision !== goal.revision) return `${app.name} is from revision ${mark.revision}`;
    return mark.isChanged ? `${app.name} was changed on the device` : undefined;
  }
  if (!runsImage(app.image, report)) return `${app.name} has another image: ${report.image}`;
  // Left out of reports that would be too large.
  if (Object.keys(report.spec).length === 0) return undefined;
  const [wanted, found] = [comparable(app), comparable(report.spec)];
  const fields = KNOWN_FIELDS.filter((name) => !NOT_COMPARED.has(name) && textOf(wanted[name]) !== textOf(found[name]));
  return fields.length === 0 ? undefined : `${app.name} differs in ${fields.join(", ")}`;
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
function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}
