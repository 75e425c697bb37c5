import { setFlagsFromString } from "node:v8";
import type { Clock } from "../../lib/clock.ts";

/**
 * Times without work after which garbage is collected, and how. What is in flight at the first is garbage by the second,
 * which also returns fragmented pages to the system. It counts as two for the age of compiled code (`--bytecode-old-age`), and
 * takes 100 ms of processor time.
 */
const COLLECTIONS = [
  { quietMs: 10_000, options: { type: "major", execution: "sync", flavor: "regular" } },
  { quietMs: 60_000, options: { type: "major", execution: "sync", flavor: "last-resort" } },
] as const;

type Collect = (options: (typeof COLLECTIONS)[number]["options"]) => unknown;

/**
 * Makes collections also move what is left together, which gives 0.7 MB back to the system. Only these: one that V8 makes
 * in the midst of work would need room for both copies, up to 10 MB for a moment.
 */
export function compacting(collect: Collect): Collect {
  return (options) => {
    setFlagsFromString("--compact-on-every-full-gc");
    try {
      return collect(options);
    } finally {
      setFlagsFromString("--no-compact-on-every-full-gc");
    }
  };
}

export interface IdleGcOptions {
  readonly clock: Clock;
  /** Collects garbage; `undefined` without Node.js's option `--expose-gc`. */
  readonly collect: Collect | undefined;
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
    const next = COLLECTIONS[round];
    if (!collect || !next) return;
    const { quietMs, options } = next;
    timer = clock.timer(quietMs - elapsedMs, () => {
      collect(options);
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
