import { type Clock, systemClock } from "../../lib/clock.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { type ResolvedPath, pathWithoutLinks } from "../core/policy/resolved-path.ts";
import { resolvePath } from "./resolve-path.ts";

/** How long a file system may take, in milliseconds. */
const RESOLVE_TIMEOUT_MS = 2_000;

/**
 * Node.js has four threads for the file system and for names of hosts. A call to a network mount whose server is gone
 * never returns and keeps its thread, so that four of them would stop the agent.
 */
const MAX_CONCURRENT_RESOLUTIONS = 2;

/** Follows paths, and goes on where a file system does not answer. */
export class PathResolver {
  readonly #clock: Pick<Clock, "timer">;
  readonly #resolvePath: (path: string) => Promise<ResolvedPath>;
  readonly #slots = new Semaphore(MAX_CONCURRENT_RESOLUTIONS);
  /** By path: one that does not return is not begun again. */
  readonly #inFlight = new Map<string, Promise<ResolvedPath>>();

  constructor(clock: Pick<Clock, "timer"> = systemClock, trace: (path: string) => Promise<ResolvedPath> = resolvePath) {
    this.#clock = clock;
    this.#resolvePath = trace;
  }

  /** Where the path leads; not seen (`ETIMEDOUT`) where that takes longer than 2 s. Never rejects. */
  async resolve(path: string): Promise<ResolvedPath> {
    const { promise: late, resolve } = Promise.withResolvers<ResolvedPath>();
    using _timer = this.#clock.timer(RESOLVE_TIMEOUT_MS, () =>
      resolve({ ...pathWithoutLinks(path), unresolved: { path, reason: "ETIMEDOUT" } }),
    );
    return await Promise.race([this.#startOnce(path), late]);
  }

  #startOnce(path: string): Promise<ResolvedPath> {
    const earlier = this.#inFlight.get(path);
    if (earlier) return earlier;
    const begun = this.#run(path).finally(() => this.#inFlight.delete(path));
    this.#inFlight.set(path, begun);
    return begun;
  }

  async #run(path: string): Promise<ResolvedPath> {
    using _turn = await this.#slots.acquire();
    return await this.#resolvePath(path);
  }
}
