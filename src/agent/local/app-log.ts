import { maskSecrets } from "../../lib/redact.ts";
import { secretsOf } from "../core/container.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { DeployServices } from "../steps/context.ts";
import { ownContainer } from "./device-status.ts";
import { LocalError } from "./local-error.ts";

export interface LogOptions {
  /** How many of the last lines come first. */
  readonly lines: number;
  readonly follow: boolean;
}

/** Hands on an app's output, its secrets masked. Following, it goes on over restarts of the app until the signal aborts. */
export async function followAppLog(
  name: string,
  { lines, follow }: LogOptions,
  { engine, store, clock }: Pick<DeployServices, "engine" | "store" | "clock">,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const app = store.apps().find((record) => record.name === name);
  if (!app) throw new LocalError(404, "AppNotFound", `There is no app named ${name} on this device.`);
  const secrets = secretsOf(app.spec);
  const emit = (line: string): void => onLine(maskSecrets(line, secrets));
  try {
    const container = await ownContainer(app, engine, signal);
    if (!container) throw new LocalError(409, "NoContainer", `${name} has no container right now, and so no log.`);
    if (!follow) {
      for (const line of await engine.tailLogs(container.id, lines, signal)) emit(line);
      return;
    }
    for (let tail = lines; ; tail = 0) {
      await engine.followLogs(container.id, tail, emit, signal);
      await clock.sleep(RESUME_MS, signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof EngineError ? new LocalError(502, "EngineError", error.message) : error;
  }
}

// Between two runs of an app that was stopped there is nothing to follow.
const RESUME_MS = 500;
