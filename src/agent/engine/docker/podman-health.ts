import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import { type Clock, deadline } from "../../../lib/clock.ts";
import type { ContainerState } from "../engine.ts";
import { getJson } from "./get.ts";

/** How late a check may be before nothing else is taken to run it. */
const MAX_LATE_MS = 5_000;
/** More than a device has apps. */
const MAX_CONTAINERS = 500;
/** Beyond the check's own time-out. */
const ANSWER_MS = 10_000;

/**
 * Runs health checks of Podman's containers that are late. Podman has them run by timers of systemd: on a device without
 * it, or for a user whose systemd does not run, they never are, and an app with a check never is healthy. Here they
 * run with each look at the container, such as a deployment's until the app is verified.
 */
export class PodmanHealth {
  readonly #clock: Clock;
  readonly #running = new Set<string>();
  /** The last check of each container, or its start, and since when it is the last, in monotonic milliseconds. */
  readonly #last = new Map<string, { readonly at: string; readonly sinceMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a check if one is due, and does not wait for it. */
  check(docker: Docker, info: ContainerInspectInfo, { id, status, startedAt, healthcheck }: ContainerState): void {
    if (!healthcheck || status !== "running" || this.#running.has(id)) return;
    const { intervalMs, timeoutMs } = healthcheck;
    const at = lastEnd(info) ?? startedAt;
    const last = this.#last.get(id);
    const now = this.#clock.monotonic();
    if (last?.at === at && now - last.sinceMs < intervalMs + Math.min(intervalMs, MAX_LATE_MS)) return;
    this.#last.delete(id);
    this.#last.set(id, { at, sinceMs: now });
    const [oldest] = this.#last.keys();
    if (this.#last.size > MAX_CONTAINERS && oldest !== undefined) this.#last.delete(oldest);
    if (last?.at !== at) return;
    this.#running.add(id);
    void this.#run(docker, id, timeoutMs + ANSWER_MS);
  }

  /** The result is in the container's state. */
  async #run(docker: Docker, id: string, ms: number): Promise<void> {
    using limit = deadline(this.#clock, ms);
    // A check that fails is an error of the call, too.
    await getJson(docker, `/v4.0.0/libpod/containers/${id}/healthcheck`, limit.signal).catch(() => undefined);
    this.#running.delete(id);
  }
}

interface CheckLog {
  readonly Log?: readonly { readonly End?: string }[] | null;
}

/** When the last check ended; `undefined` if none has run. Some versions of Podman call its log another name. */
function lastEnd({ State: state }: ContainerInspectInfo): string | undefined {
  const { Health, Healthcheck } = state as { readonly Health?: CheckLog; readonly Healthcheck?: CheckLog };
  return (Health ?? Healthcheck)?.Log?.at(-1)?.End;
}
