import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import { EngineError } from "../engine-error.ts";
import { withFields } from "./shape.ts";
import { unlessStatus } from "./unless-status.ts";

/**
 * The container with exactly this id or name. Engines also answer to the beginning of an id, so that an app named `ab`
 * would be taken for a container that has nothing to do with it.
 */
export async function findContainer(
  docker: Docker,
  idOrName: string,
  abortSignal: AbortSignal,
): Promise<ContainerInspectInfo | undefined> {
  const found = await unlessStatus(404, docker.getContainer(idOrName).inspect({ abortSignal }));
  if (!found) return undefined;
  const info = withFields(found, { Id: "", Name: "", State: {}, Config: {} });
  return info.Id === idOrName || info.Name === `/${idOrName}` || info.Name === idOrName ? info : undefined;
}

/** Like `findContainer`, but one that does not exist is an error of kind `not_found`. */
export async function requireContainer(
  docker: Docker,
  idOrName: string,
  abortSignal: AbortSignal,
): Promise<ContainerInspectInfo> {
  const info = await findContainer(docker, idOrName, abortSignal);
  if (info) return info;
  throw new EngineError("not_found", `no such container: ${idOrName}`);
}
