import type { RequestedAppSpec } from "../../../protocol/apps/app-spec.ts";
import { replacementOf } from "../../../protocol/apps/app-update.ts";
import { type AppliedApp, type Apply, applySchema, localApplySchema } from "../../../protocol/apps/apply.ts";
import type { DeployOptions } from "../../../protocol/apps/deploy-request.ts";
import { EdgeError, type ErrorDetails } from "../../../protocol/errors/errors.ts";
import { parseImageReference } from "../../../protocol/apps/image-reference.ts";
import { IN_WORDS } from "../../../protocol/values/issue-words.ts";
import { invalidRequest, type RequestIssue, toInvalidRequest } from "../../../protocol/errors/request-error.ts";
import { containerName } from "../app/container.ts";
import type { TakeFiles } from "../app/files.ts";
import { networkOwner } from "../../../protocol/apps/app-network.ts";
import { networkObstacle } from "../deployment/check.ts";
import { accept, acceptNew, toRequestFailure } from "../deployment/accept.ts";
import { type AppRecord, type DeploymentRecord, newRecord } from "../records.ts";
import type { FleetImages } from "../image/fleet-images.ts";
import { inOrder, type OrderedChange, withHandovers } from "./order.ts";
import { childId } from "./child-id.ts";

export interface AcceptGroupContext {
  readonly id: string;
  readonly order: number;
  readonly origin: DeploymentRecord["origin"];
  readonly options: DeployOptions;
  /** The installed apps. */
  readonly apps: readonly AppRecord[];
  /** The deployment that is working on an app. */
  readonly activeDeploymentOf: (app: string) => string | undefined;
  /** Takes the files of the apps. */
  readonly takeFiles: TakeFiles;
}

/** The records of an accepted group: its own, and one for each app. */
export interface AcceptedGroup {
  readonly group: DeploymentRecord;
  readonly children: readonly DeploymentRecord[];
  /** The images that a fleet keeps on the device from now on. */
  readonly keptImages?: FleetImages;
}

/**
 * Returns the records of a group that is applied: removals first, then the apps in the order of their dependencies. All
 * steps are planned from them, also after a crash. Never refuses: a group that cannot be applied gets its failure, and no
 * records of apps.
 */
export function acceptGroup(input: unknown, context: AcceptGroupContext): AcceptedGroup {
  const { id, order, origin, options } = context;
  // Credentials are only kept with the apps that need them.
  const { registry_auth: _auth, ...kept } = options;
  const base: DeploymentRecord = { ...newRecord(id, order, undefined), action: "apply", origin, options: kept };
  const schema = origin === "local" ? localApplySchema : applySchema;
  const parsed = schema.safeParse(input, IN_WORDS);
  if (!parsed.success) {
    const failure = toRequestFailure(toInvalidRequest(parsed.error, schema));
    return { group: { ...base, apply: { onFailure: "rollback" }, failure }, children: [] };
  }
  const request: Apply = parsed.data;
  const { project, on_failure: onFailure, expect, fleet, keep_images: images = [] } = request;
  const apply = { onFailure, ...(expect !== undefined && { expect }), ...(fleet && { fleet }) };
  const group = { ...base, app: project, apply };
  try {
    const children = acceptChildren(request, context);
    return { group, children, ...(fleet && !options.dry_run && { keptImages: { fleet: fleet.name, images } }) };
  } catch (error) {
    if (!(error instanceof EdgeError)) throw error;
    return { group: { ...group, failure: toRequestFailure(error) }, children: [] };
  }
}

interface AcceptedChange extends OrderedChange {
  readonly record: DeploymentRecord;
}

/** @throws EdgeError if the group cannot be applied */
function acceptChildren(request: Apply, context: AcceptGroupContext): DeploymentRecord[] {
  const removed = removedApps(request, context.apps);
  checkApps(request, removed, context);
  checkCredentials(request, context.options);
  const removals = removed.map((app) => acceptRemoval(app, context));
  const changes = request.apps.map((_entry, index) => acceptChange(request, index, context));
  checkNetworks(changes, removed, context.apps);
  const ordered = inOrder(withHandovers(changes));
  if (!ordered.ok) throw handoverCircle(ordered.circle);
  const children = [
    ...removals.map((record) => ({ record, dependsOn: [] })),
    ...ordered.changes.map(({ record, dependsOn }) => ({ record, dependsOn })),
  ];
  const awaited = new Set(
    changes.flatMap(({ dependsOn }) =>
      dependsOn.flatMap((other) => (other.condition === "completed" ? [other.app] : [])),
    ),
  );
  return children.map((child, index) => toChild(child, index + 1, context, awaited));
}

/**
 * @param number from 1, in the order in which the apps are changed
 * @param awaited names of the apps that others wait for to complete
 */
function toChild(
  { record, dependsOn }: Pick<AcceptedChange, "record" | "dependsOn">,
  number: number,
  { id, order }: AcceptGroupContext,
  awaited: ReadonlySet<string>,
): DeploymentRecord {
  const mustComplete = record.action !== "remove" && awaited.has(record.app);
  const group = { id, dependsOn, ...(mustComplete && { mustComplete }) };
  return { ...record, id: childId(id, number), order: order + number, group };
}

/** Returns the installed apps that the group names for removal, or that `prune` removes. */
function removedApps({ project, apps, prune, remove = [] }: Apply, installed: readonly AppRecord[]): AppRecord[] {
  const isPruned = ({ name, spec }: AppRecord): boolean =>
    prune && spec.project === project && !apps.some(({ app }) => app.name === name);
  return installed.filter((app) => remove.includes(app.name) || isPruned(app));
}

function checkApps({ project, apps, adopt }: Apply, removed: readonly AppRecord[], context: AcceptGroupContext): void {
  for (const name of [...apps.map(({ app }) => app.name), ...removed.map((app) => app.name)]) {
    const active = context.activeDeploymentOf(name);
    if (active !== undefined) {
      const details = { deployment_id: active, app: name };
      throw new EdgeError("ErrorDeploymentAlreadyExist", `A deployment of ${name} is already running.`, details);
    }
  }
  checkContainerNames(apps.map(({ app }) => app.name));
  if (adopt) return;
  for (const { app } of apps) {
    const installed = context.apps.find(({ name }) => name === app.name);
    if (!installed || installed.spec.project === project) continue;
    const owner = installed.spec.project;
    // Taking over what another project's file describes would replace that app, and the next apply of that file this one.
    const message =
      owner === undefined
        ? `The app ${app.name} is installed and belongs to no project; it is taken into ${project} only with adopt (edgectl: --adopt).`
        : `The app ${app.name} is installed and belongs to the project ${owner}. Rename it in ${project}: a device has each name once.`;
    throw new EdgeError("AppExists", message, { app: app.name, ...(owner !== undefined && { project: owner }) });
  }
}

/** Each app that has the network of another one must find it after the group. */
function checkNetworks(
  changes: readonly AcceptedChange[],
  removed: readonly AppRecord[],
  apps: readonly AppRecord[],
): void {
  const kept = apps.filter(({ name }) => !removed.some((app) => app.name === name));
  const after = new Map([
    ...kept.map(({ name, spec }) => [name, spec] as const),
    ...changes.map(({ app, after: spec }) => [app, spec] as const),
  ]);
  for (const [name, spec] of after) {
    const owner = networkOwner(spec);
    if (owner === undefined) continue;
    const reason = networkObstacle({ owner, of: after.get(owner) });
    if (reason === undefined) continue;
    throw new EdgeError("InvalidRequest", `The app ${name} cannot have its network: ${reason}.`, { app: name });
  }
}

/** The checks of an app compare its container's names with those of installed apps, not with those of its group. */
function checkContainerNames(apps: readonly string[]): void {
  for (const app of apps) {
    const container = containerName(app);
    const other = apps.find((name) => name !== app && name === container);
    if (other === undefined) continue;
    const message = `The containers of the apps ${app} and ${other} would both be named ${container}. Rename one of them.`;
    throw new EdgeError("ErrorNameExists", message, { app, container, other_app: other });
  }
}

/** Credentials are for one registry: they must not be sent to another one. */
function checkCredentials({ apps }: Apply, { registry_auth: auth }: DeployOptions): void {
  if (!auth) return;
  const registries = [...new Set(apps.map(({ app }) => parseImageReference(app.image)?.registry))];
  if (registries.length <= 1) return;
  const reason = `is for one registry, but the images are in ${registries.length}: ${registries.slice(0, 5).join(", ")}`;
  throw invalidRequest([{ path: "registry_auth", reason }]);
}

function acceptRemoval(app: AppRecord, { id, order, origin }: AcceptGroupContext): DeploymentRecord {
  const at = { id, order, origin, installed: app, activeDeploymentId: undefined };
  return accept({ action: "remove", app: app.name }, at);
}

/** @throws EdgeError if the app is not valid */
function acceptChange(request: Apply, index: number, context: AcceptGroupContext): AcceptedChange {
  const { app: requested, depends_on: dependsOn } = request.apps[index] as Apply["apps"][number];
  const { id, order, origin, options, takeFiles } = context;
  const installed = context.apps.find(({ name }) => name === requested.name);
  const app = requested.name;
  const spec = { ...requested, project: request.project };
  if (!installed) {
    const after = acceptNew(spec, takeFiles);
    if (after instanceof EdgeError) throw within(index, missingValues(requested) ?? after);
    const record = { ...newRecord(id, order, after), origin, options };
    return { app, before: undefined, after, dependsOn, record };
  }
  // Fields that are missing from the request become absent.
  const { image, ...others } = replacementOf(spec as RequestedAppSpec);
  // An update that names its image asks the registry what the name means by now.
  const patch = image === installed.spec.image ? others : { ...others, image };
  const change = { action: "update", app, spec: patch, options } as const;
  const record = accept(change, { id, order, origin, installed, activeDeploymentId: undefined, takeFiles });
  const { failure, spec: after } = record;
  if (failure || !after) throw within(index, toError(failure));
  return { app, before: installed.spec, after, dependsOn, record };
}

function toError(failure: DeploymentRecord["failure"]): EdgeError {
  return new EdgeError(failure?.code ?? "InvalidRequest", failure?.message, failure?.details);
}

/** A new app has no values that could be kept. */
function missingValues({ environments }: AppliedApp): EdgeError | undefined {
  const issues = environments.flatMap(({ value }, index): RequestIssue[] =>
    value === undefined
      ? [
          {
            path: `environments[${index}].value`,
            reason: "is missing, and the app is not installed, so there is none to keep",
          },
        ]
      : [],
  );
  return issues.length > 0 ? invalidRequest(issues) : undefined;
}

/** The error of one app, with paths from the whole request. */
function within(index: number, error: EdgeError): EdgeError {
  const { issues } = (error.details ?? {}) as ErrorDetails & { readonly issues?: readonly RequestIssue[] };
  if (!issues) return error;
  return invalidRequest(
    issues.map(({ path, reason }) => ({ path: `apps[${index}].app${path && `.${path}`}`, reason })),
  );
}

function handoverCircle(circle: readonly string[]): EdgeError {
  const message =
    `The apps ${circle.join(", ")} take over ports or volumes from each other, or from an app that depends on them, in a circle. ` +
    "Apply it in two steps: first with other ports and volumes, then with these.";
  return new EdgeError("InvalidRequest", message, { apps: circle });
}
