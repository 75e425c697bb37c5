import { type Clock, systemClock } from "../../lib/clock.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { type PathTrace, plainTrace } from "../core/path-trace.ts";
import { tracePath } from "./real-path.ts";

/** How long a file system may take, in milliseconds. */
const PATIENCE_MS = 2_000;

/**
 * Node.js has four threads for the file system and for names of hosts. A call to a network mount whose server is gone
 * never returns and keeps its thread, so that four of them would stop the agent.
 */
const MAX_AT_ONCE = 2;

/** Follows paths, and goes on where a file system does not answer. */
export class PathTracer {
  readonly #clock: Pick<Clock, "timer">;
  readonly #trace: (path: string) => Promise<PathTrace>;
  readonly #turns = new Semaphore(MAX_AT_ONCE);
  /** By path: one that does not return is not begun again. */
  readonly #underWay = new Map<string, Promise<PathTrace>>();

  constructor(clock: Pick<Clock, "timer"> = systemClock, trace: (path: string) => Promise<PathTrace> = tracePath) {
    this.#clock = clock;
    this.#trace = trace;
  }

  /** Where the path leads; not seen (`ETIMEDOUT`) where that takes longer than 2 s. Never rejects. */
  async trace(path: string): Promise<PathTrace> {
    const { promise: late, resolve } = Promise.withResolvers<PathTrace>();
    using _timer = this.#clock.timer(PATIENCE_MS, () =>
      resolve({ ...plainTrace(path), unseen: { path, reason: "ETIMEDOUT" } }),
    );
    return await Promise.race([this.#begin(path), late]);
  }

  #begin(path: string): Promise<PathTrace> {
    const earlier = this.#underWay.get(path);
    if (earlier) return earlier;
    const begun = this.#take(path).finally(() => this.#underWay.delete(path));
    this.#underWay.set(path, begun);
    return begun;
  }

  async #take(path: string): Promise<PathTrace> {
    using _turn = await this.#turns.acquire();
    return await this.#trace(path);
  }
}
