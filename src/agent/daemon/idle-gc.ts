import type { Clock } from "../../lib/clock.ts";

/** Time without work before garbage is collected. */
const QUIET_MS = 10_000;

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
 * Collects garbage when the agent is idle after its start and after each work, until disposed. V8 by itself collects
 * only when more memory is allocated, so that an idle agent would keep the garbage of its last deployment, 1 to 3 MB.
 */
export function createIdleGc({ clock, collect }: IdleGcOptions): IdleGc {
  let timer: Disposable | undefined;
  const onWork = (): void => {
    timer?.[Symbol.dispose]();
    timer = collect && clock.timer(QUIET_MS, () => void collect());
  };
  onWork();
  return { onWork, [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
