/** How an engine restarts a container, as far as it was seen. */
export interface RestartTrace {
  /** The engine's count when it was looked at last. */
  readonly restarts: number;
  /** When it began to run last, as far as that was seen, in monotonic milliseconds. */
  readonly startedMs: number;
  /** Restarts without a pause. */
  readonly atOnce: number;
  /** Pauses so far. */
  readonly pauses: number;
}

/** A run of this length ends a crash loop, as with Docker. */
const STABLE_RUN_MS = 10_000;
/** Docker's own pauses before so many restarts are 3 s together. */
const MAX_AT_ONCE = 4;
const FIRST_PAUSE_MS = 3_200;
const MAX_PAUSE_MS = 60_000;

/**
 * Returns the trace after a look at a container whose engine restarts it without pauses, and how long it has to pause now,
 * in milliseconds, which are the pauses that Docker makes: twice as long each time, up to a minute.
 *
 * @param trace `undefined` at the first look: the engine may have restarted it for a long time before
 * @param restarts the engine's count, with one that is about to happen; a start by the agent sets it back
 * @param nowMs monotonic milliseconds
 */
export function observeRestarts(
  trace: RestartTrace | undefined,
  restarts: number,
  nowMs: number,
): { readonly trace: RestartTrace; readonly pauseMs?: number } {
  if (!trace) return { trace: { restarts, startedMs: nowMs, atOnce: 0, pauses: 0 } };
  const more = restarts < trace.restarts ? restarts : restarts - trace.restarts;
  if (more === 0) return { trace: { ...trace, restarts } };
  const isLoop = nowMs - trace.startedMs < STABLE_RUN_MS;
  const pauses = isLoop ? trace.pauses : 0;
  const atOnce = (isLoop ? trace.atOnce : 0) + more;
  if (pauses === 0 && atOnce <= MAX_AT_ONCE) return { trace: { restarts, startedMs: nowMs, atOnce, pauses } };
  const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(pauses, 20));
  return { trace: { restarts: 0, startedMs: nowMs + pauseMs, atOnce: 0, pauses: pauses + 1 }, pauseMs };
}
