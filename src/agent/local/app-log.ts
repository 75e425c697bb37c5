import { EdgeError } from "../../protocol/errors/errors.ts";
import { type AppLogSource, readAppLog } from "../apps/app-log.ts";
import { LocalError } from "./local-error.ts";

export interface LogOptions {
  /** Number of existing lines to start with. */
  readonly lines: number;
  readonly follow: boolean;
  /** What the app wrote before its present run. Not together with `follow`. */
  readonly previous: boolean;
}

/** Passes an app's output to `onLine`. With `follow`, continues across restarts of the app until the signal aborts. */
export async function followAppLog(
  name: string,
  { lines, follow, previous }: LogOptions,
  source: AppLogSource,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (previous && follow) throw new LocalError(400, "BadRequest", "The log of earlier runs cannot be followed.");
  try {
    const batches = readAppLog(name, { tail: lines, follow, previous }, source, signal);
    for (;;) {
      const next = await batches.next();
      if (!next.done) for (const { text } of next.value.lines) onLine(text);
      else if (next.value === "no_container") throw withoutContainer(name);
      else if (next.value === "no_previous") throw withoutPrevious(name);
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

function withoutPrevious(name: string): LocalError {
  return new LocalError(409, "NoPreviousLog", `Nothing is left of what ${name} wrote before its present run.`);
}

function toLocal({ code, message }: EdgeError): LocalError {
  return code === "AppNotFound" ? new LocalError(404, code, message) : new LocalError(502, "EngineError", message);
}
