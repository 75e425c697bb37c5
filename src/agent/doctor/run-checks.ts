import { type Clock, deadline } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import {
  failedDependencies,
  CHECKS,
  checkOf,
  type CheckId,
  skipped,
  type CheckResult,
  type CheckResults,
} from "../core/doctor/checks.ts";
import { bad, type ProbeContext, type Probe } from "./probe.ts";

/** How long one probe may take, and all of them together, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000;
const TOTAL_TIMEOUT_MS = 14_000;
/** How long a probe that was told to give up may take to say what it waited for, in milliseconds. */
const ABORT_GRACE_MS = 250;

/**
 * Makes all checks, those that do not build upon each other at the same time, and resolves in time whatever hangs.
 *
 * @param onVerdict told each verdict as soon as it is known
 */
export async function runChecks(
  probes: Readonly<Record<CheckId, Probe>>,
  patient: ProbeContext,
  clock: Clock,
  onVerdict: (id: CheckId, verdict: CheckResult) => void = () => undefined,
): Promise<CheckResults> {
  using all = deadline(clock, TOTAL_TIMEOUT_MS);
  const verdicts = new Map<CheckId, CheckResult>();
  const running = new Map<CheckId, Promise<void>>();
  const run = (id: CheckId): Promise<void> => {
    const started = running.get(id) ?? check(id);
    running.set(id, started);
    return started;
  };
  const check = async (id: CheckId): Promise<void> => {
    await Promise.all(checkOf(id).needs.map(run));
    const below = failedDependencies(id, verdicts);
    const verdict = below.length > 0 ? skipped(below) : await ask(probes[id], patient, clock, all.signal);
    verdicts.set(id, verdict);
    onVerdict(id, verdict);
  };
  await Promise.all(CHECKS.map(({ id }) => run(id)));
  return verdicts;
}

const NO_ANSWER = bad("No answer in time.", "Try again; if it stays so, something on the way swallows what is sent.");

async function ask(probe: Probe, patient: ProbeContext, clock: Clock, all: AbortSignal): Promise<CheckResult> {
  using limit = deadline(clock, PROBE_TIMEOUT_MS, all);
  // Timers do not keep the process alive, and what a probe waits for may not either.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const late = new Promise<CheckResult>((resolve) => {
    const giveUp = (): void => void clock.timer(ABORT_GRACE_MS, () => resolve(NO_ANSWER));
    if (limit.signal.aborted) giveUp();
    else limit.signal.addEventListener("abort", giveUp, { once: true });
  });
  try {
    return await Promise.race([probe(patient, limit.signal), late]);
  } catch (error) {
    const text = errorText(error);
    return bad(`The check itself failed: ${text}`, "Report this with: edge-agent support-bundle FILE");
  } finally {
    clearInterval(keepAlive);
  }
}
