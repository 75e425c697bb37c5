import { type Clock, systemClock } from "../../lib/clock.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { type ResolvedPath, pathWithoutLinks } from "../core/policy/resolved-path.ts";
import { resolvePath } from "./resolve-path.ts";

/** Timeout of one resolution, in milliseconds. */
const RESOLVE_TIMEOUT_MS = 2_000;

/**
 * Node.js has four threads for the file system and for DNS. A call to a network mount whose server is gone never
 * returns and keeps its thread, so that four such calls would stop the agent.
 */
const MAX_CONCURRENT_RESOLUTIONS = 2;

/** Resolves paths with a timeout, because a file system may not respond. */
export class PathResolver {
  readonly #clock: Pick<Clock, "timer">;
  readonly #resolvePath: (path: string) => Promise<ResolvedPath>;
  readonly #slots = new Semaphore(MAX_CONCURRENT_RESOLUTIONS);
  /** By path: a call that does not return is not started twice. */
  readonly #inFlight = new Map<string, Promise<ResolvedPath>>();

  constructor(
    clock: Pick<Clock, "timer"> = systemClock,
    resolve: (path: string) => Promise<ResolvedPath> = resolvePath,
  ) {
    this.#clock = clock;
    this.#resolvePath = resolve;
  }

  /** Resolves a path; after 2 s `unresolved` with `ETIMEDOUT`. Never rejects. */
  async resolve(path: string): Promise<ResolvedPath> {
    const { promise: timeout, resolve } = Promise.withResolvers<ResolvedPath>();
    using _timer = this.#clock.timer(RESOLVE_TIMEOUT_MS, () =>
      resolve({ ...pathWithoutLinks(path), unresolved: { path, reason: "ETIMEDOUT" } }),
    );
    return await Promise.race([this.#startOnce(path), timeout]);
  }

  #startOnce(path: string): Promise<ResolvedPath> {
    const earlier = this.#inFlight.get(path);
    if (earlier) return earlier;
    const started = this.#run(path).finally(() => this.#inFlight.delete(path));
    this.#inFlight.set(path, started);
    return started;
  }

  async #run(path: string): Promise<ResolvedPath> {
    using _slot = await this.#slots.acquire();
    return await this.#resolvePath(path);
  }
}
