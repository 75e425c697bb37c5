import { deadline } from "../../lib/clock.ts";
import { SecretMasker } from "../../lib/redact.ts";
import type { AppLogLine } from "../../protocol/apps/app-log.ts";
import { LABELS } from "../core/app/container.ts";
import { declaredSecretsOf, declaredSecretsOfRecord } from "../core/app/secrets.ts";
import { nanoseconds } from "../core/logs/time.ts";
import type { ContainerState, Engine, LogLine } from "../engine/engine.ts";
import { maskLogLine } from "../engine/mask-log-lines.ts";
import { MAX_KEPT_LINES } from "../store/previous-logs.ts";
import type { ContainerStepContext } from "./context.ts";

/** After this time a container is removed without its log, in milliseconds. */
const ENGINE_TIMEOUT_MS = 5_000;

/**
 * Keeps the last lines of the containers' log that ended last, before they are removed. Nothing is kept of an app that is
 * not installed or is being removed, and of containers that never ran. Never rejects, except with the signal's reason: a
 * deployment or repair does not depend on the log.
 */
export async function keepLog(
  context: Pick<
    ContainerStepContext,
    "engine" | "store" | "previousLogs" | "clock" | "logger" | "deploymentId" | "signal"
  >,
  containerIds: readonly string[],
): Promise<void> {
  const { engine, store, previousLogs, clock, logger, deploymentId, signal } = context;
  let app: string | undefined;
  try {
    using limit = deadline(clock, ENGINE_TIMEOUT_MS, signal);
    const container = await findLastRun(engine, containerIds, limit.signal);
    app = container?.labels[LABELS.app];
    const installed = store.apps().find(({ name }) => name === app);
    const record = store.deployment(deploymentId);
    if (!container || !installed || record?.action === "remove") return;
    const readText = (id: string): string | undefined => store.fileContent(id)?.toString();
    const ofRecord = record ? declaredSecretsOfRecord(record, readText) : [];
    const secrets = [...declaredSecretsOf(installed.spec, readText), ...ofRecord];
    const lines = await readMasked(engine, container.id, secrets, limit.signal);
    if (lines.length > 0) previousLogs.keep(installed.name, lines);
  } catch (error) {
    signal.throwIfAborted();
    logger.warn(
      { err: error, ...(app !== undefined && { app }) },
      "the log of an app's removed container could not be kept; the app is not affected. See: edge-agent doctor (disk, engine)",
    );
  }
}

/** Returns the container whose last run ended last; one that runs has not ended yet. */
async function findLastRun(
  engine: Engine,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ContainerState | undefined> {
  const found: ContainerState[] = [];
  for (const id of ids) {
    const container = await engine.inspectContainer(id, signal);
    if (container && (nanoseconds(container.startedAt) ?? 0n) > 0n) found.push(container);
  }
  return found.toSorted((one, other) => Number(endOf(one) - endOf(other))).at(-1);
}

function endOf({ startedAt, finishedAt }: ContainerState): bigint {
  const [started, finished] = [nanoseconds(startedAt) ?? 0n, nanoseconds(finishedAt) ?? 0n];
  return finished > started ? finished : started;
}

async function readMasked(
  engine: Engine,
  id: string,
  secrets: readonly string[],
  signal: AbortSignal,
): Promise<AppLogLine[]> {
  const masker = new SecretMasker(secrets);
  const begun = new Set<LogLine["stream"]>();
  const lines: AppLogLine[] = [];
  for await (const batch of engine.readLogs(id, { tail: MAX_KEPT_LINES, follow: false }, signal)) {
    for (const line of batch) {
      const { stream, time, truncated } = line;
      const text = maskLogLine(line, masker, !begun.has(stream));
      lines.push({ stream, time, text, ...(truncated && { truncated }) });
      begun.add(stream);
    }
    lines.splice(0, lines.length - MAX_KEPT_LINES);
  }
  return lines;
}
