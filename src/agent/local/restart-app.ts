import { EngineError } from "../engine/engine-error.ts";
import { ownContainer } from "../live/own-container.ts";
import type { DeployServices } from "../steps/context.ts";
import { LocalError } from "./local-error.ts";

/** Restarts an app's container. Errors: `LocalError` for an app that is not there, or that a deployment is at work on. */
export async function restartApp(
  name: string,
  { engine, store, clock, logger }: Pick<DeployServices, "engine" | "store" | "clock" | "logger">,
  isBusy: (app: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const app = store.apps().find((record) => record.name === name);
  if (!app) throw new LocalError(404, "AppNotFound", `There is no app named ${name} on this device.`);
  if (isBusy(name))
    throw new LocalError(409, "AppBusy", `${name} is being deployed right now; wait until that has ended.`);
  try {
    const container = await ownContainer(app, engine, signal);
    if (!container) {
      throw new LocalError(
        409,
        "NoContainer",
        `${name} has no container right now; the agent makes a new one within 30 s.`,
      );
    }
    logger.info({ app: name }, "restarting the app, as asked on the device");
    await engine.restartContainer(container.id, signal);
  } catch (error) {
    throw error instanceof EngineError ? new LocalError(502, "EngineError", error.message) : error;
  }
  store.save({ happened: { kind: "restart", app: name, at: Math.floor(clock.now() / 1000) } });
}
