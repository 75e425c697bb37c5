import type { Clock } from "../../lib/clock.ts";

/** Times without work after which garbage is collected. What is in flight at the first is garbage by the second. */
const QUIET_MS = [10_000, 60_000] as const;

export interface IdleGcOptions {
  readonly clock: Clock;
  /** Collects garbage; `undefined` without Node.js's option `--expose-gc`. */
  readonly collect: (() => unknown) | undefined;
}

/** Collects garbage when the agent is idle. */
export interface IdleGc extends Disposable {
  /** Must be called after work that leaves garbage. */
  readonly onWork: () => void;
}

/**
 * Collects garbage twice when the agent is idle after its start and after each work, until disposed. V8 by itself collects
 * only when more memory is allocated, so that an idle agent would keep the garbage of its last deployment, 1 to 3 MB.
 */
export function createIdleGc({ clock, collect }: IdleGcOptions): IdleGc {
  let timer: Disposable | undefined;
  const arm = (round: number, elapsedMs: number): void => {
    const quietMs = QUIET_MS[round];
    if (!collect || quietMs === undefined) return;
    timer = clock.timer(quietMs - elapsedMs, () => {
      collect();
      arm(round + 1, quietMs);
    });
  };
  const onWork = (): void => {
    timer?.[Symbol.dispose]();
    arm(0, 0);
  };
  onWork();
  return { onWork, [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
