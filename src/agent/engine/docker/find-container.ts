import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import { EngineError } from "../engine-error.ts";
import { getJson } from "./get.ts";
import { requireFields } from "./shape.ts";
import { unlessStatus } from "./unless-status.ts";

/**
 * Returns the container with exactly this id or name. Engines also accept a prefix of an id, so that the name `ab`
 * could match an unrelated container.
 */
export async function findContainer(
  docker: Docker,
  idOrName: string,
  abortSignal: AbortSignal,
): Promise<ContainerInspectInfo | undefined> {
  const path = `/containers/${encodeURIComponent(idOrName)}/json`;
  const found = await unlessStatus(404, getJson<ContainerInspectInfo>(docker, path, abortSignal));
  if (!found) return undefined;
  const info = requireFields(found, { Id: "", Name: "", State: {}, Config: {} });
  return info.Id === idOrName || info.Name === `/${idOrName}` || info.Name === idOrName ? info : undefined;
}

/** Like `findContainer`, but throws an error of kind `not_found` if the container does not exist. */
export async function requireContainer(
  docker: Docker,
  idOrName: string,
  abortSignal: AbortSignal,
): Promise<ContainerInspectInfo> {
  const info = await findContainer(docker, idOrName, abortSignal);
  if (info) return info;
  throw new EngineError("not_found", `no such container: ${idOrName}`);
}

/** A whole id. No other id begins with it. */
const WHOLE_ID = /^[0-9a-f]{64}$/;

/**
 * Returns the id of the container with exactly this id or name. Does not ask the engine about a whole id: the call that
 * follows fails with `not_found` if there is no such container. Throws that error for any other that does not exist.
 */
export async function requireContainerId(docker: Docker, idOrName: string, abortSignal: AbortSignal): Promise<string> {
  return WHOLE_ID.test(idOrName) ? idOrName : (await requireContainer(docker, idOrName, abortSignal)).Id;
}
