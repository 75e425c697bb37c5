import type { AppLogChunk, LogsParams } from "../../protocol/apps/app-log.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { LogLimits } from "../core/logs/budget.ts";
import { type AppLogEnd, type AppLogSource, readAppLog } from "../apps/app-log.ts";
import { LogChunks } from "./log-chunks.ts";

const NANOSECONDS = 1_000_000_000n;

const END_MESSAGES: Readonly<Record<AppLogEnd, string | undefined>> = {
  read: undefined,
  no_container: "The app has no container right now, and so no log.",
  no_previous: "Nothing is left of what the app wrote before its present run.",
  removed: "The app was removed.",
};

/**
 * Sends an app's log within the limits, until it is read or, with `follow`, the app is removed or the signal aborts.
 * Resolves with a message if the log ended for another reason than its end. Errors: `EdgeError` as from `readAppLog`.
 */
export async function sendAppLog(
  { app, tail, since, follow, previous }: LogsParams,
  source: AppLogSource & { readonly limits: LogLimits },
  send: (chunk: AppLogChunk) => Promise<unknown>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { limits, clock } = source;
  using chunks = new LogChunks({ limits, clock, send, signal });
  const from = since === undefined ? undefined : BigInt(since) * NANOSECONDS;
  if (previous && follow) throw new EdgeError("InvalidRequest", "The log of earlier runs cannot be followed.");
  const log = readAppLog(app, { tail, since: from, follow, previous }, source, signal);
  try {
    for (;;) {
      const next = await log.next();
      if (next.done) {
        await chunks.finish();
        return END_MESSAGES[next.value];
      }
      const { lines, isLive } = next.value;
      for (const line of lines) {
        if (await chunks.add(line, isLive)) continue;
        await chunks.finish();
        return `No more than ${limits.totalBytes} bytes are sent for one request; the rest is left out.`;
      }
      // All existing lines are read. Sends a chunk even if there were none: the client waits for a first one.
      if (lines.length === 0) await chunks.send();
    }
  } finally {
    await log.return("read");
  }
}
