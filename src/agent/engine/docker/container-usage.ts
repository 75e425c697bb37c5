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

/** What a container uses at this moment, asked for once; `undefined` where it does not run. */
export async function containerUsage(
  docker: Docker,
  id: string,
  abortSignal: AbortSignal,
): Promise<ContainerUsage | undefined> {
  const path = `/containers/${encodeURIComponent(id)}/stats`;
  const asked = getJson<unknown>(docker, path, abortSignal, { stream: false, "one-shot": true });
  const answer = await unlessStatus(404, asked).catch(unlessUncounted);
  const stats = statsSchema.safeParse(answer).data;
  // Of one that does not run the engine has no memory to tell of.
  if (!stats?.memory_stats?.usage) return undefined;
  const { cpu_stats: cpu, memory_stats: memory, networks } = stats;
  // What the kernel may take back at once is no use, as the engine's own command counts.
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

/** Docker 29 fails where its containerd counts nothing on this machine. Those before it answer that, or zeros. */
function unlessUncounted(error: unknown): undefined {
  if (!hasStatus(error, 500) || !String(error).includes("no metrics received")) throw error;
}
