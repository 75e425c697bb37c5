import { EdgeError } from "../../protocol/errors/errors.ts";
import { findAppContainer } from "../apps/find-app-container.ts";
import type { ContainerState } from "../engine/engine.ts";
import type { AppStream, StreamServices } from "./app-stream.ts";

/** Returns the container of the stream's app. Errors: `AppNotFound`, `AppNotRunning`. */
export async function findContainer(
  { app, signal }: Pick<AppStream, "app" | "signal">,
  { store, engine }: StreamServices,
): Promise<ContainerState> {
  const record = store.apps().find(({ name }) => name === app);
  if (!record) throw new EdgeError("AppNotFound", `There is no app named ${app} on this device.`);
  const container = await findAppContainer(record, engine, signal);
  if (!container) throw new EdgeError("AppNotRunning", `${app} has no container right now.`);
  return container;
}

/** Like `findContainer`, for an app that has to run. */
export async function findRunningContainer(
  stream: Pick<AppStream, "app" | "signal">,
  services: StreamServices,
): Promise<ContainerState> {
  const container = await findContainer(stream, services);
  if (container.status === "running") return container;
  throw new EdgeError("AppNotRunning", `${stream.app} does not run; its container is ${container.status}.`);
}
