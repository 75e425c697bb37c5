import type Docker from "dockerode";
import { z } from "zod";
import type { ContainerUsage } from "../engine.ts";
import { getJson } from "./get.ts";
import { hasStatus, unlessStatus } from "./unless-status.ts";

const count = z.number().min(0).catch(0);

const statsSchema = z.object({
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: count }) }),
  memory_stats: z
    .object({
      usage: count.optional(),
      limit: count.optional(),
      stats: z.object({ total_inactive_file: count.optional(), inactive_file: count.optional() }).optional(),
    })
    .optional(),
  networks: z.record(z.string(), z.object({ rx_bytes: count, tx_bytes: count })).nullish(),
});

/** Measures what a container uses now; `undefined` if it does not run. */
export async function containerUsage(
  docker: Docker,
  id: string,
  abortSignal: AbortSignal,
): Promise<ContainerUsage | undefined> {
  const path = `/containers/${encodeURIComponent(id)}/stats`;
  const response = getJson<unknown>(docker, path, abortSignal, { stream: false, "one-shot": true });
  const body = await unlessStatus(404, response).catch(ignoreMissingMetrics);
  const stats = statsSchema.safeParse(body).data;
  // For a container that does not run, the engine returns no memory usage.
  if (!stats?.memory_stats?.usage) return undefined;
  const { cpu_stats: cpu, memory_stats: memory, networks } = stats;
  // Reclaimable memory does not count, as in `docker stats`.
  const reclaimable = memory.stats?.total_inactive_file ?? memory.stats?.inactive_file ?? 0;
  const counters = Object.values(networks ?? {});
  const sum = (pick: (one: (typeof counters)[number]) => number): number =>
    counters.reduce((total, one) => total + pick(one), 0);
  return {
    cpuNs: cpu.cpu_usage.total_usage,
    memoryBytes: Math.max(0, (memory.usage ?? 0) - reclaimable),
    memoryLimitBytes: memory.limit,
    receivedBytes: counters.length > 0 ? sum(({ rx_bytes }) => rx_bytes) : undefined,
    sentBytes: counters.length > 0 ? sum(({ tx_bytes }) => tx_bytes) : undefined,
  };
}

/** Docker 29 fails if containerd has no metrics on this machine; earlier versions return nothing, or zeros. */
function ignoreMissingMetrics(error: unknown): undefined {
  if (!hasStatus(error, 500) || !String(error).includes("no metrics received")) throw error;
}
