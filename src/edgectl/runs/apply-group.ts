import type { z } from "zod";
import { applyPlanSchema } from "../../protocol/apps/apply.ts";
import type { DeploymentRequest, StreamedEvent } from "../api/deployments.ts";
import { listApps } from "../api/apps.ts";
import type { ApiClient } from "../api/client.ts";
import { type BodyOf, requestOf } from "../api/request.ts";
import { confirmApply } from "./apply-app.ts";
import type { Context } from "../context.ts";
import { type FollowFlags, requestDeployment, requestDryRun } from "./run-deployment.ts";
import { EXIT, Failure } from "../failure.ts";
import { renderGroupPlan, renderMappedPorts } from "../views/plan-view.ts";
import { type InstalledPort, type MappedPort, mapPorts, requirePorts } from "../group/map-ports.ts";
import { type InstalledName, nameApps } from "../group/app-names.ts";
import { type InstalledFiles, isUnknownFile, withoutKnownFiles } from "../group/known-files.ts";
import type { GroupFile } from "../group-file/read-group.ts";
import { buildGroupRequest, checkGroupRequest, type GroupFlags, type GroupRequest } from "../group/request.ts";

export interface GroupOptions extends GroupFlags, FollowFlags {
  readonly dryRun: boolean;
  /** Applies without asking. */
  readonly yes: boolean;
  /** Chooses host ports for those that the device does not allow. */
  readonly mapPorts: boolean;
  /** Fields of the request that say how the deployment is carried out. */
  readonly execution: Readonly<Record<string, unknown>>;
}

type ApplyPlan = z.output<typeof applyPlanSchema>;

/** Comparisons made when another client changes the device's apps meanwhile. */
const MAX_ATTEMPTS = 2;

/**
 * Checks a file of several apps as far as this machine can, without a connection. Errors: exit code 2, with all problems
 * by line. Which ports are free on the device is not known yet.
 */
export function checkGroup(file: GroupFile, options: GroupOptions): void {
  findGroupProblems(file, options);
  file.problems.throwIfAny();
}

/** Adds the problems that `checkGroup` throws. */
export function findGroupProblems(
  { written: services, problems }: GroupFile,
  options: Pick<GroupOptions, keyof GroupFlags | "mapPorts" | "execution">,
): void {
  const written = nameApps(services);
  const ports = options.mapPorts ? mapPorts(written, [], problems) : requirePorts(written, problems);
  checkGroupRequest(buildGroupRequest(written, ports, options, options.execution), written, problems);
}

/**
 * Applies several apps as one deployment: has the device compare them, shows the difference, asks, and applies what was
 * shown. Where nothing differs, nothing is requested. Errors: exit code 1 if the answer is no; otherwise as
 * `requestDeployment`.
 */
export async function applyGroup(
  context: Context,
  client: ApiClient,
  asset: string,
  file: GroupFile,
  options: GroupOptions,
): Promise<void> {
  const { printer } = context;
  for (const note of file.problems.notes) printer.note(note);
  for (let attempt = 1; ; attempt++) {
    // Chosen again with each comparison: another app may have taken a port meanwhile.
    const { request, dryRun } = await comparison(context, client, asset, file, options);
    const plan = readPlan(dryRun.details);
    if (printer.json) printer.jsonLine(planDocument(plan));
    else printer.line(renderGroupPlan(plan, printer.theme));
    if (plan.plan.every(({ change }) => change === "none")) {
      if (!printer.json) printer.line("Nothing to change.");
      return;
    }
    if (options.dryRun) {
      if (!printer.json) printer.line("Nothing was changed.");
      return;
    }
    if (!options.yes) await confirmApply(context, asset);
    try {
      const expected = { ...request, expect: plan.plan_hash };
      await requestDeployment(context, client, asset, applyRequest(asset, expected, false), options, file.uploads);
      return;
    } catch (error) {
      const isOvertaken = error instanceof Failure && error.code === "PlanChanged";
      if (!isOvertaken || attempt === MAX_ATTEMPTS) throw error;
      printer.note("Another client changed the apps of the device meanwhile. Comparing again.");
    }
  }
}

/** Has the device compare the apps. Contents that it has according to its report are sent if it does not have them after all. */
async function comparison(
  context: Context,
  client: ApiClient,
  asset: string,
  file: GroupFile,
  options: GroupOptions,
): Promise<{ readonly request: GroupRequest; readonly dryRun: StreamedEvent }> {
  const { request: whole, apps } = await buildRequest(context, client, asset, file, options);
  const compare = async (request: GroupRequest) => {
    const dryRun = await requestDryRun(context, client, asset, applyRequest(asset, request, true), options);
    return { request, dryRun };
  };
  const short = withoutKnownFiles(whole, apps);
  try {
    return await compare(short);
  } catch (error) {
    if (!isUnknownFile(error)) throw error;
    return await compare(whole);
  }
}

interface BuiltRequest {
  readonly request: GroupRequest;
  /** Those of the device, as far as they were asked for. */
  readonly apps: readonly InstalledApp[];
}

async function buildRequest(
  { printer }: Context,
  client: ApiClient,
  asset: string,
  { written: services, problems }: GroupFile,
  options: GroupOptions,
): Promise<BuiltRequest> {
  const isAsked = options.mapPorts || services.apps.some(({ isService, fields }) => isService || fields["files"]);
  const apps = isAsked ? await installedApps(client, asset) : [];
  const written = nameApps(services, apps);
  if (!options.mapPorts) {
    return { request: buildGroupRequest(written, requirePorts(written, problems), options, options.execution), apps };
  }
  const ports = mapPorts(written, apps.flatMap(portsOf), problems);
  problems.throwIfAny();
  const chosen = ports.filter(({ port, hostPort }) => port.hostPort !== hostPort);
  if (printer.json) printer.jsonLine({ ports: chosen.map(portDocument) });
  else if (chosen.length > 0) printer.line(renderMappedPorts(chosen, printer.theme));
  return { request: buildGroupRequest(written, ports, options, options.execution), apps };
}

type ListedApp = Awaited<ReturnType<typeof listApps>>["apps"][number];

interface InstalledApp extends InstalledName, InstalledFiles {
  readonly ports: ListedApp["ports"];
}

async function installedApps(client: ApiClient, asset: string): Promise<InstalledApp[]> {
  const { apps } = await listApps(client, asset);
  return apps.map(({ name, spec, ports }) => {
    const { project } = spec;
    return { name, project: typeof project === "string" ? project : undefined, ports, spec };
  });
}

function portsOf({ name, ports }: InstalledApp): InstalledPort[] {
  return ports.map(({ host_port: hostPort, target_port: targetPort, protocol = "tcp" }) => {
    return { app: name, hostPort, targetPort, protocol };
  });
}

function planDocument({ plan, plan_hash, download_bytes, not_in_request }: ApplyPlan): object {
  return { plan, plan_hash, download_bytes, ...(not_in_request.length > 0 && { not_in_request }) };
}

function portDocument({ app, port, hostPort }: MappedPort): object {
  const { targetPort: target_port, protocol, hostPort: file_port = null } = port;
  return { app, host_port: hostPort, target_port, protocol, file_port };
}

const APPLY = "POST /v1/assets/{asset_id}/edge/apply";

function applyRequest(asset: string, body: GroupRequest, isDryRun: boolean): DeploymentRequest {
  const query = { dry_run: isDryRun ? "true" : undefined };
  // Sent as the file has it: the service says what it refuses.
  return requestOf(APPLY, { path: { asset_id: asset }, query, body: body as BodyOf<typeof APPLY> });
}

function readPlan(details: unknown): ApplyPlan {
  const parsed = applyPlanSchema.safeParse(details);
  if (parsed.success) return parsed.data;
  throw new Failure("The device's answer to the dry run has no plan.", {
    exitCode: EXIT.unreachable,
    hint: "The service or the device is newer than this edgectl. Take the one that came with the service.",
  });
}
