import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { containerIdOf } from "../core/policy/mountinfo.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";

/**
 * Returns a path of the agent as the engine knows it: another one if the agent runs in a container, which has its state
 * directory from the device. `undefined` if the device does not have it under any path.
 */
export async function hostPath(
  { engine, host }: { readonly engine: Pick<Engine, "readContainerConfig">; readonly host: Pick<Host, "readMounts"> },
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const id = containerIdOf(await host.readMounts());
  const own = id === undefined ? undefined : await engine.readContainerConfig(id, signal);
  if (!own) return path;
  const [mount] = own.volumes
    .map(({ local, target }) => ({ local: normalizePath(local), target: normalizePath(target) }))
    .filter(({ target }) => path === target || path.startsWith(`${target}/`))
    .toSorted((one, other) => other.target.length - one.target.length);
  return mount && normalizePath(mount.local + path.slice(mount.target.length));
}
