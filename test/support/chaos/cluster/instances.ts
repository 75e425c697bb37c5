import type { ClusterInstance } from "../../system/cluster-instance.ts";
import type { Cluster } from "../../system/cluster.ts";
import { waitFor } from "../../wait-for.ts";

/** Longest time until an instance serves again, also if its database is away for a while. */
const STARTED_MS = 300_000;

/** The instances of a cluster, as a service manager sees them: one that ends while it starts is started again. */
export class Instances {
  /** Instances that have ended although nobody had told them to. */
  readonly unexpectedEnds: string[] = [];
  readonly #cluster: Cluster;
  /** Those that are told to end, or were. */
  readonly #ending = new Set<number>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    for (const index of cluster.instances.keys()) void this.#noteEnd(index);
  }

  get count(): number {
    return this.#cluster.instances.length;
  }

  get(index: number): ClusterInstance {
    return this.#cluster.instance(index);
  }

  /** Kills it, without waiting for its exit. */
  killNow(index: number): void {
    this.#ending.add(index);
    this.get(index).signal("SIGKILL");
  }

  async kill(index: number): Promise<void> {
    this.killNow(index);
    await this.get(index).exited();
  }

  /** Tells it to stop, and waits until it has. Returns its exit code. */
  async stop(index: number): Promise<number | null> {
    this.#ending.add(index);
    return this.get(index).stop();
  }

  /** Starts it if it does not run. */
  async start(index: number): Promise<void> {
    const instance = this.get(index);
    if (instance.isRunning) return;
    await waitFor(
      `instance ${index} to start`,
      async () => {
        if (!instance.isRunning) await instance.start();
        return true;
      },
      { timeoutMs: STARTED_MS, intervalMs: 300 },
    );
    this.#ending.delete(index);
    void this.#noteEnd(index);
  }

  async #noteEnd(index: number): Promise<void> {
    const instance = this.get(index);
    const code = await instance.exited();
    if (this.#ending.has(index)) return;
    this.unexpectedEnds.push(`instance ${index} ended with ${code}\n${instance.tail()}`);
  }
}
