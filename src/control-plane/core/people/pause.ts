/** How failures slow down further attempts. Times are seconds of a clock that does not jump. */
export interface PausePolicy {
  /** Failures without a pause. */
  readonly free: number;
  /** The pause after the next failure. Doubles with each further one. */
  readonly firstPauseS: number;
  readonly maxPauseS: number;
  /** Time in which one failure is forgotten. */
  readonly forgetS: number;
}

export interface Failures {
  readonly count: number;
  readonly lastAt: number;
}

/** Failures beyond this one do not make the pause longer, so they are not counted: they are forgotten sooner. */
function maxCount({ free, firstPauseS, maxPauseS }: PausePolicy): number {
  return free + 1 + Math.ceil(Math.log2(maxPauseS / firstPauseS));
}

/** How many failures are remembered. */
export function rememberedFailures(failures: Failures | undefined, now: number, { forgetS }: PausePolicy): number {
  if (!failures) return 0;
  const forgotten = Math.floor(Math.max(0, now - failures.lastAt) / forgetS);
  return Math.max(0, failures.count - forgotten);
}

/** Adds one failure. */
export function addFailure(failures: Failures | undefined, now: number, policy: PausePolicy): Failures {
  return { count: Math.min(rememberedFailures(failures, now, policy) + 1, maxCount(policy)), lastAt: now };
}

/** Takes one failure back: the attempt it was counted for has succeeded. The time that was to be waited stays. */
export function removeFailure(failures: Failures, now: number, policy: PausePolicy): Failures | undefined {
  const count = rememberedFailures(failures, now, policy) - 1;
  return count > 0 ? { count, lastAt: failures.lastAt } : undefined;
}

/** Returns how long to wait before the next attempt, in seconds; 0 if it may be made now. */
export function pauseLeft(failures: Failures | undefined, now: number, policy: PausePolicy): number {
  const excess = rememberedFailures(failures, now, policy) - policy.free;
  if (!failures || excess <= 0) return 0;
  const pause = Math.min(policy.firstPauseS * 2 ** (excess - 1), policy.maxPauseS);
  return Math.min(Math.max(0, failures.lastAt + pause - now), policy.maxPauseS);
}
