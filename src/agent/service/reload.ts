import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Config, loadConfig } from "../config/load.ts";
import { changedPaths } from "../core/service/changed-paths.ts";
import type { ServiceManager } from "./service-manager.ts";

/** What a running daemon takes over; everything else holds from its next start. */
const RELOADABLE_SETTING = "log.level";

export interface ReloadOptions {
  /** As the daemon was started with it. */
  readonly config: Config;
  readonly logger: Logger;
  readonly manager: Pick<ServiceManager, "reloading" | "ready">;
}

/**
 * Reads the configuration file again at every SIGHUP, until disposed: takes over the level of the log, and names the
 * settings that have changed and wait for a restart. A file that cannot be used changes nothing.
 */
export function reloadOnHangup(options: ReloadOptions): Disposable {
  const reload = (): void => {
    options.manager.reloading();
    applyConfig(options);
    options.manager.ready();
  };
  process.on("SIGHUP", reload);
  return { [Symbol.dispose]: () => void process.off("SIGHUP", reload) };
}

function applyConfig({ config, logger }: ReloadOptions): void {
  let next: Config;
  try {
    next = loadConfig(config.path);
  } catch (error) {
    const reason = errorText(error);
    logger.error({ reason }, "the configuration cannot be used; the agent goes on with what it has");
    return;
  }
  logger.level = next.log.level;
  logger.info({ config: config.path, log_level: next.log.level }, "the configuration was read again");
  const waiting = changedPaths(config, next).filter((path) => path !== RELOADABLE_SETTING);
  if (waiting.length === 0) return;
  const hint = "systemctl restart edge-agent; the apps keep running meanwhile";
  logger.warn({ settings: waiting, hint }, "settings were changed that the agent takes over only when it is restarted");
}
