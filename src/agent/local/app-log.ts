import { EdgeError } from "../../protocol/errors.ts";
import { type AppLogSource, readAppLog } from "../apps/app-log.ts";
import { LocalError } from "./local-error.ts";

export interface LogOptions {
  /** Number of existing lines to start with. */
  readonly lines: number;
  readonly follow: boolean;
}

/** Passes an app's output to `onLine`. With `follow`, continues across restarts of the app until the signal aborts. */
export async function followAppLog(
  name: string,
  { lines, follow }: LogOptions,
  source: AppLogSource,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    const batches = readAppLog(name, { tail: lines, follow }, source, signal);
    for (;;) {
      const next = await batches.next();
      if (!next.done) for (const { text } of next.value.lines) onLine(text);
      else if (next.value === "no_container") throw withoutContainer(name);
      else return;
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof EdgeError ? toLocal(error) : error;
  }
}

function withoutContainer(name: string): LocalError {
  return new LocalError(409, "NoContainer", `${name} has no container right now, and so no log.`);
}

function toLocal({ code, message }: EdgeError): LocalError {
  return code === "AppNotFound" ? new LocalError(404, code, message) : new LocalError(502, "EngineError", message);
}
