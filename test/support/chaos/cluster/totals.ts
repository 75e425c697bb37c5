import type { ClusterChaos } from "./cluster-chaos.ts";

/** What a random run has tried. */
export class Totals {
  rounds = 0;
  readonly #faults = new Map<string, number>();
  readonly #ends = new Map<string, number>();
  readonly #counts = {
    systems: 0,
    deployments: 0,
    repeatedKeys: 0,
    unavailable: 0,
    waited: 0,
    lost: 0,
    deviceSessions: 0,
  };

  /** @param faults names of those that happened */
  addRound(faults: readonly string[]): void {
    this.rounds++;
    for (const name of faults) increment(this.#faults, name);
  }

  addSystem({ allClients, repeated, sites }: ClusterChaos): void {
    this.#counts.systems++;
    this.#counts.deployments += allClients.length;
    this.#counts.repeatedKeys += repeated.size;
    for (const { device } of sites) this.#counts.deviceSessions += device.sessions;
    for (const { final, refusals, events } of allClients) {
      // Deployments that waited for their device, and those whose device lost its connection meanwhile.
      if (events.some(({ details }) => details?.["waiting_for"] !== undefined)) this.#counts.waited++;
      if (events.some(({ details }) => details?.["connection"] === "lost")) this.#counts.lost++;
      this.#counts.unavailable += refusals.length;
      increment(this.#ends, final?.code ?? final?.status ?? "none");
    }
  }

  get text(): string {
    const faults = [...this.#faults.values()].reduce((sum, count) => sum + count, 0);
    const counts = { ...this.#counts, rounds: this.rounds, faults };
    return JSON.stringify({ ...counts, byFault: sorted(this.#faults), ends: sorted(this.#ends) }, undefined, 1);
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a));
}
