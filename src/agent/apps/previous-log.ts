import { SecretMasker } from "../../lib/redact.ts";
import type { AppLogLine } from "../../protocol/apps/app-log.ts";
import { declaredSecretsOf } from "../core/app/secrets.ts";
import type { AppRecord } from "../core/records.ts";
import { nanoseconds, previousRunsUntil } from "../core/logs/time.ts";
import type { ContainerState, LogLine, LogRequest } from "../engine/engine.ts";
import { toReportedLine } from "../engine/mask-log-lines.ts";
import type { AppLogBatch, AppLogEnd, AppLogRequest, AppLogSource } from "./app-log.ts";
import { findAppContainer } from "./find-app-container.ts";

/**
 * Reads what an app wrote before its present run, oldest first: what was kept of the container before, and earlier runs of
 * the present container. Ends with `no_previous` if there is nothing. Rejects with an `EngineError`.
 */
export async function* readPreviousLog(
  app: AppRecord,
  { tail, since }: Pick<AppLogRequest, "tail" | "since">,
  source: AppLogSource,
  signal: AbortSignal,
): AsyncGenerator<AppLogBatch, AppLogEnd> {
  const kept = source.previousLogs.read(app.name).filter(({ time }) => isSince(time, since));
  const container = await findAppContainer(app, source.engine, signal);
  const earlier = container && earlierRuns(container, since, source, signal);
  // Read twice instead of buffered: engines count the latest lines by the end of the log, and a log may be large.
  let count = kept.length;
  for await (const lines of earlier?.() ?? []) count += lines.length;
  if (count === 0) return "no_previous";
  const readText = (id: string): string | undefined => source.store.fileContent(id)?.toString();
  const masker = new SecretMasker(declaredSecretsOf(app.spec, readText));
  const begun = new Set<LogLine["stream"]>();
  let toSkip = Math.max(0, count - tail);
  let left = tail;
  for await (const line of merge(kept, earlier?.() ?? [])) {
    if (left === 0) break;
    if (toSkip-- > 0) continue;
    left--;
    yield { lines: [toReportedLine(line, masker, !begun.has(line.stream))], isLive: false };
    begun.add(line.stream);
  }
  return "read";
}

/** Returns a function that reads the lines of the container's runs before its last one; `undefined` if it has had none. */
function earlierRuns(
  container: ContainerState,
  since: bigint | undefined,
  { engine }: AppLogSource,
  signal: AbortSignal,
): (() => AsyncIterable<readonly LogLine[]>) | undefined {
  const until = previousRunsUntil(container);
  if (until === undefined) return undefined;
  const request: LogRequest = { tail: Infinity, since, until, follow: false };
  return () => engine.readLogs(container.id, request, signal);
}

/** Merges two logs by time. */
async function* merge(
  kept: readonly AppLogLine[],
  batches: AsyncIterable<readonly LogLine[]> | readonly (readonly LogLine[])[],
): AsyncGenerator<LogLine> {
  const rest = kept.map((line) => ({ ...line, truncated: line.truncated === true }));
  for await (const batch of batches) {
    for (const line of batch) {
      const at = nanoseconds(line.time);
      yield* rest.splice(0, countUntil(rest, at));
      yield line;
    }
  }
  yield* rest;
}

/** Returns how many lines at the beginning are not later than this time. */
function countUntil(lines: readonly LogLine[], at: bigint | undefined): number {
  if (at === undefined) return 0;
  const later = lines.findIndex(({ time }) => (nanoseconds(time) ?? at) > at);
  return later === -1 ? lines.length : later;
}

function isSince(time: string, since: bigint | undefined): boolean {
  return since === undefined || (nanoseconds(time) ?? since) >= since;
}
