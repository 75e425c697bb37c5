import { listApps } from "../api/apps.ts";
import type { ApiClient } from "../api/client.ts";
import { applyCompared, compareOnDevice, type ComparedOptions, type Comparison } from "./apply-compared.ts";
import type { Context } from "../context.ts";
import type { AppDocument } from "../../protocol/apps/fields-in-force.ts";
import { renderMappedPorts } from "../views/plan-view.ts";
import { type InstalledPort, type MappedPort, mapPorts, requirePorts } from "../group/map-ports.ts";
import { type InstalledName, nameApps } from "../group/app-names.ts";
import { type InstalledFiles, isUnknownFile, withoutKnownFiles } from "../group/known-files.ts";
import type { GroupFile } from "../group-file/read-group.ts";
import { buildGroupRequest, checkGroupRequest, type GroupFlags, type GroupRequest } from "../group/request.ts";

export interface GroupOptions extends GroupFlags, ComparedOptions {
  /** Chooses host ports for those that the device does not allow. */
  readonly mapPorts: boolean;
  /** Fields of the request that say how the deployment is carried out. */
  readonly execution: Readonly<Record<string, unknown>>;
}

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
  for (const note of file.problems.notes) context.printer.note(note);
  // Chosen again with each comparison: another app may have taken a port meanwhile.
  const compare = () => comparison(context, client, asset, file, options);
  await applyCompared(context, client, asset, compare, options, file.uploads);
}

/** Has the device compare the apps. Contents that it has according to its report are sent if it does not have them after all. */
async function comparison(
  context: Context,
  client: ApiClient,
  asset: string,
  file: GroupFile,
  options: GroupOptions,
): Promise<Comparison> {
  const { request: whole, apps } = await buildRequest(context, client, asset, file, options);
  const specs = { old: new Map(apps.map(({ name, spec }) => [name, spec])), new: specsOf(whole) };
  const compare = (request: GroupRequest) => compareOnDevice(context, client, asset, request, options, specs);
  const short = withoutKnownFiles(whole, apps);
  try {
    return await compare(short);
  } catch (error) {
    if (!isUnknownFile(error)) throw error;
    return await compare(whole);
  }
}

function specsOf({ apps }: GroupRequest): ReadonlyMap<string, AppDocument> {
  const entries = apps as readonly { readonly app: AppDocument & { readonly name: string } }[];
  return new Map(entries.map(({ app }) => [app.name, app]));
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

function portDocument({ app, port, hostPort }: MappedPort): object {
  const { targetPort: target_port, protocol, hostPort: file_port = null } = port;
  return { app, host_port: hostPort, target_port, protocol, file_port };
}
