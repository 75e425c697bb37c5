import { MAX_APPLY_APPS } from "../../protocol/apps/apply.ts";
import { listApps } from "../api/apps.ts";
import type { ApiClient } from "../api/client.ts";
import type { Context } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import { applyCompared, compareOnDevice, type ComparedOptions } from "./apply-compared.ts";

/**
 * Removes all apps of a project as one deployment: has the device say which they are, asks, and removes exactly those. If
 * one cannot be removed, all of them come back. Errors: exit code 4 if the asset has no app of the project; otherwise as
 * `applyCompared`.
 *
 * @param waitS how long to wait for a device that is not connected, in seconds
 */
export async function removeProject(
  context: Context,
  client: ApiClient,
  asset: string,
  project: string,
  options: ComparedOptions & { readonly waitS: number | undefined },
): Promise<void> {
  const compare = async () => {
    const { apps } = await listApps(client, asset);
    const names = apps.filter(({ spec }) => spec.project === project).map(({ name }) => name);
    if (names.length === 0) throw notFound(asset, project, apps);
    // A request without apps needs a name to remove. The others are those that the device knows, also ones not reported yet.
    const remove = names.slice(0, MAX_APPLY_APPS);
    const wait = options.waitS === undefined ? {} : { wait_for_device_s: options.waitS };
    return await compareOnDevice(context, client, asset, { project, apps: [], remove, prune: true, ...wait }, options);
  };
  await applyCompared(context, client, asset, compare, options);
}

function notFound(asset: string, project: string, apps: Awaited<ReturnType<typeof listApps>>["apps"]): Failure {
  const others = [...new Set(apps.flatMap(({ spec }) => (typeof spec.project === "string" ? [spec.project] : [])))];
  const hint =
    others.length === 0 ? "No app there belongs to a project." : `Projects there: ${others.toSorted().join(", ")}.`;
  return new Failure(`${asset} has no app of the project ${project}.`, { exitCode: EXIT.notFound, hint });
}
