import { LABELS } from "../../../src/agent/core/app/container.ts";
import { engineRequest } from "../images.ts";

/** A container as the engine lists it. */
export interface ListedContainer {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

/** What the engine tells of one container, as far as tests look at it. */
export interface ContainerInspection {
  readonly Id: string;
  readonly Name: string;
  readonly State: { readonly Status: string; readonly StartedAt: string };
  readonly Config: { readonly Env: readonly string[]; readonly Labels: Readonly<Record<string, string>> };
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Mounts: readonly Readonly<Record<string, unknown>>[];
}

/** Every container of the engine, also those that do not run. */
export async function listContainers(socketPath: string): Promise<ListedContainer[]> {
  const { status, body } = await engineRequest(socketPath, "GET", "/containers/json?all=1");
  if (status !== 200) throw new Error(`the engine does not list its containers: ${status} ${body}`);
  return JSON.parse(body) as ListedContainer[];
}

/** Removes the containers whose app or name begins so. Nothing to do where no engine answers. */
export async function removeContainers(socketPath: string, prefix: string): Promise<void> {
  const containers = await listContainers(socketPath).catch(() => []);
  const ours = containers.filter(({ Names, Labels }) => {
    return Labels?.[LABELS.app]?.startsWith(prefix) || Names.some((name) => name.startsWith(`/${prefix}`));
  });
  for (const { Id } of ours) await engineRequest(socketPath, "DELETE", `/containers/${Id}?force=1&v=1`);
}
