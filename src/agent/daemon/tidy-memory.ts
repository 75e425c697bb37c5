import type { Clock } from "../../lib/clock.ts";

/** How long it has to be quiet, in milliseconds. */
const QUIET_MS = 10_000;

export interface TidyOptions {
  readonly clock: Clock;
  /** Calls back with everything that leaves garbage behind. */
  readonly onWork: (listener: () => void) => Disposable;
  /** Collects garbage; `undefined` where Node.js was not told to offer that, and does it when it sees fit. */
  readonly collect: (() => unknown) | undefined;
}

/**
 * Has the garbage collected once after the start and after each deployment, when all is quiet, until disposed. V8 does so
 * when it is asked for more memory: an agent that waits for months would keep what was left of the last deployment, 1 to
 * 3 MB, all that time.
 */
export function tidyMemory({ clock, onWork, collect }: TidyOptions): Disposable {
  using undo = new DisposableStack();
  if (!collect) return undo.move();
  let timer: Disposable | undefined;
  const wait = (): void => {
    timer?.[Symbol.dispose]();
    timer = clock.timer(QUIET_MS, () => void collect());
  };
  undo.defer(() => timer?.[Symbol.dispose]());
  undo.use(onWork(wait));
  wait();
  return undo.move();
}
