import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Config, loadConfig } from "../config/load.ts";
import type { ServiceManager } from "../../lib/service-manager.ts";

/** The settings a running daemon applies. All others need a restart. */
const RELOADABLE_SETTINGS: ReadonlySet<string> = new Set(["log.level", "policy.remote_access"]);

export interface ReloadOptions {
  /** The configuration the daemon was started with, as it was read. */
  readonly config: Config;
  readonly logger: Logger;
  readonly manager: Pick<ServiceManager, "reloading" | "ready">;
  /** Called with the new configuration, to apply `policy.remote_access`. */
  readonly onPolicy: (policy: Config["policy"]) => void;
}

/**
 * Reads the configuration file again at every SIGHUP, until disposed. Applies the log level and the policy for remote
 * access, and logs which other changed settings need a restart. Keeps everything as it is if the file is invalid.
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

function applyConfig({ config, logger, onPolicy }: ReloadOptions): void {
  let next: Config;
  try {
    next = loadConfig(config.path);
  } catch (error) {
    const reason = errorText(error);
    logger.error({ reason }, "the configuration is not valid; the agent keeps the one it has");
    return;
  }
  logger.level = next.log.level;
  onPolicy(next.policy);
  const applied = { log_level: next.log.level, remote_access: next.policy.remote_access };
  logger.info({ config: config.path, ...applied }, "the configuration was read again");
  const changed = changedPaths(config, next).map((path) => (path === "extraCa" ? "extra_ca_file" : path));
  const pending = [...new Set(changed)].filter((path) => !RELOADABLE_SETTINGS.has(path));
  if (pending.length === 0) return;
  const hint = "systemctl restart edge-agent; the apps keep running meanwhile";
  logger.warn({ settings: pending, hint }, "changed settings take effect only after a restart of the agent");
}

/**
 * Returns where two values made of plain objects differ, as dotted paths such as `link.keepalive_s`. An array counts as
 * one value.
 */
export function changedPaths(before: unknown, after: unknown, path: string = ""): string[] {
  if (!isRecord(before) || !isRecord(after)) return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => changedPaths(before[key], after[key], path === "" ? key : `${path}.${key}`));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
