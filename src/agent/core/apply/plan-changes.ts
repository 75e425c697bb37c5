import type { PlannedChange } from "../../../protocol/apps/apply.ts";
import type { DeploymentRecord } from "../records.ts";
import { type ImageSource, NO_COST, type PullCost } from "../image/image.ts";
import { computePullCost, costDetails, withFiles } from "../image/pull-cost.ts";
import { diffSpec } from "./diff-spec.ts";

/** The deployment of an app whose image is resolved. */
export interface ResolvedChild {
  readonly record: DeploymentRecord;
  /** Where the image comes from; `undefined` if it is on the device. */
  readonly source: ImageSource | undefined;
}

/** Returns what the group does to each app. */
export function planChanges(children: readonly ResolvedChild[]): PlannedChange[] {
  return children.map(({ record, source }): PlannedChange => {
    const { app, action } = record;
    if (action === "remove") return { app, change: "remove", fields: [] };
    // The cost is not known where the engine pulls the image by itself.
    const cost = source?.kind === "engine" ? undefined : withFiles(source?.cost ?? NO_COST, record.fetches);
    const details = cost && { cost: { ...costDetails(cost) } };
    if (action === "deploy") return { app, change: "create", fields: [], ...details };
    const fields = changedFields(record);
    return fields.length === 0 ? { app, change: "none", fields } : { app, change: "update", fields, ...details };
  });
}

/** `image` also if the reference is the same, and means another image by now. */
function changedFields(record: DeploymentRecord): string[] {
  const { spec, previous, result } = record;
  if (!spec || !previous || result === "unchanged") return [];
  const fields = diffSpec(previous.spec, spec);
  return fields.includes("image") || !hasMoved(record) ? fields : ["image", ...fields];
}

function hasMoved({ imageId, digest, previous }: DeploymentRecord): boolean {
  if (imageId !== undefined) return imageId !== previous?.imageId;
  return digest === undefined || digest !== previous?.digest;
}

/**
 * Returns the text that a plan's hash is made of: what is done to each app, and the state of the app it is based on. It
 * holds no value of the environment, so that the hash tells nothing about one.
 */
export function planText(plan: readonly PlannedChange[], children: readonly ResolvedChild[]): string {
  const bases = children.map(({ record: { previous } }) => [previous?.deploymentId, previous?.changedBy]);
  return JSON.stringify(plan.map(({ app, change, fields }, index) => [app, change, fields, bases[index]]));
}

/** Returns what the group downloads altogether: a layer of several images, or a file of several apps, counts once. */
export function totalCost(children: readonly ResolvedChild[]): PullCost {
  const missing = children.flatMap(({ source }) => {
    return source?.kind === "registry" ? source.image.layers.slice(source.cost.layersPresent) : [];
  });
  const layers = [...new Map(missing.map((layer) => [layer.digest, layer])).values()];
  return withFiles(
    computePullCost({ layers, diffIds: [] }, []),
    children.flatMap(({ record }) => record.fetches ?? []),
  );
}

/** Maximum size of a plan in an event, as JSON, in characters. */
const MAX_PLAN_LENGTH = 24_000;
const MAX_PATH_LENGTH = 100;

/** Shortens the lists of fields until the plan fits into an event; the rest is counted. */
export function boundPlan(plan: readonly PlannedChange[]): readonly PlannedChange[] {
  const withFields = (limit: number) => plan.map((planned) => ({ ...planned, fields: shorten(planned.fields, limit) }));
  const bounded = [100, 20, 5].map(withFields).find((candidate) => JSON.stringify(candidate).length <= MAX_PLAN_LENGTH);
  return bounded ?? withFields(1);
}

function shorten(fields: readonly string[], limit: number): string[] {
  const paths = fields.slice(0, limit).map((path) => {
    return path.length <= MAX_PATH_LENGTH ? path : `${path.slice(0, MAX_PATH_LENGTH - 1)}…`;
  });
  const omitted = fields.length - paths.length;
  return omitted > 0 ? [...paths, `${omitted} more`] : paths;
}
