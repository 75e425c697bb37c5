import type { Clock } from "../../lib/clock.ts";

/** How long it has to be quiet, in milliseconds. */
const QUIET_MS = 10_000;

export interface IdleGcOptions {
  readonly clock: Clock;
  /** Collects garbage; `undefined` where Node.js was not told to offer that, and does it when it sees fit. */
  readonly collect: (() => unknown) | undefined;
}

/** Collects garbage when it is quiet. */
export interface IdleGc extends Disposable {
  /** Something was done that leaves garbage behind. */
  readonly onWork: () => void;
}

/**
 * Has the garbage collected once after the start, and after whatever is done, when all is quiet again, until disposed. V8
 * does so when it is asked for more memory: an agent that waits for months would keep what was left of the last
 * deployment, 1 to 3 MB, all that time.
 */
export function createIdleGc({ clock, collect }: IdleGcOptions): IdleGc {
  let timer: Disposable | undefined;
  const worked = (): void => {
    timer?.[Symbol.dispose]();
    timer = collect && clock.timer(QUIET_MS, () => void collect());
  };
  worked();
  return { onWork: worked, [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
