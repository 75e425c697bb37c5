import { type Clock, deadline } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import {
  failedDependencies,
  CHECKS,
  checkOf,
  type CheckId,
  type ProbedCheckId,
  skipped,
  type CheckResult,
  type CheckResults,
} from "../core/doctor/checks.ts";
import { bad, type ProbeContext, type Probe } from "./probe.ts";

/** Timeouts of one probe and of all together, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000;
const TOTAL_TIMEOUT_MS = 14_000;
/** Time an aborted probe has to report what it waited for, in milliseconds. */
const ABORT_GRACE_MS = 250;

/**
 * Runs all checks, independent ones concurrently. Always resolves within the timeouts.
 *
 * @param onResult called with each result as soon as it is known
 */
export async function runChecks(
  probes: Readonly<Record<ProbedCheckId, Probe>>,
  context: ProbeContext,
  clock: Clock,
  onResult: (id: CheckId, result: CheckResult) => void = () => undefined,
): Promise<CheckResults> {
  using all = deadline(clock, TOTAL_TIMEOUT_MS);
  const results = new Map<CheckId, CheckResult>();
  const running = new Map<CheckId, Promise<void>>();
  const run = (id: CheckId): Promise<void> => {
    const started = running.get(id) ?? check(id);
    running.set(id, started);
    return started;
  };
  const check = async (id: CheckId): Promise<void> => {
    await Promise.all(checkOf(id).needs.map(run));
    const below = failedDependencies(id, results);
    const probe = probes[id as ProbedCheckId];
    const result = below.length > 0 ? skipped(below) : await runProbe(probe, context, clock, all.signal);
    results.set(id, result);
    onResult(id, result);
  };
  await Promise.all(CHECKS.filter(({ id }) => Object.hasOwn(probes, id)).map(({ id }) => run(id)));
  return results;
}

const NO_ANSWER = bad("No answer in time.", "Try again; if it stays so, something on the network path drops packets.");

async function runProbe(probe: Probe, context: ProbeContext, clock: Clock, all: AbortSignal): Promise<CheckResult> {
  using limit = deadline(clock, PROBE_TIMEOUT_MS, all);
  // The clock's timers do not keep the process alive, nor may the probe's own handles.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const late = new Promise<CheckResult>((resolve) => {
    const giveUp = (): void => void clock.timer(ABORT_GRACE_MS, () => resolve(NO_ANSWER));
    if (limit.signal.aborted) giveUp();
    else limit.signal.addEventListener("abort", giveUp, { once: true });
  });
  try {
    return await Promise.race([probe(context, limit.signal), late]);
  } catch (error) {
    const text = errorText(error);
    return bad(`The check itself failed: ${text}`, "Report this with: edge-agent support-bundle FILE");
  } finally {
    clearInterval(keepAlive);
  }
}
