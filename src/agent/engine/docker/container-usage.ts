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
  blkio_stats: z
    .object({ io_service_bytes_recursive: z.array(z.object({ op: z.string(), value: count })).nullish() })
    .optional()
    .catch(undefined),
  pids_stats: z.object({ current: z.number().optional() }).optional().catch(undefined),
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
  const transfers = stats.blkio_stats?.io_service_bytes_recursive ?? undefined;
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
    readBytes: transferred(transfers, "read"),
    writtenBytes: transferred(transfers, "write"),
    // Without the controller, engines return 0 although at least one process runs.
    processes: stats.pids_stats?.current || undefined,
  };
}

/** Sums one direction over the block devices. Engines write `Read` or `read`, by version of the control groups. */
function transferred(
  transfers: readonly { readonly op: string; readonly value: number }[] | undefined,
  direction: string,
): number | undefined {
  const found = transfers?.filter(({ op }) => op.toLowerCase() === direction) ?? [];
  return found.length > 0 ? found.reduce((total, { value }) => total + value, 0) : undefined;
}

/** Asks the engine for the size of a container's own layer; `undefined` if there is no such container. */
export async function writableBytes(docker: Docker, id: string, abortSignal: AbortSignal): Promise<number | undefined> {
  const path = `/containers/${encodeURIComponent(id)}/json`;
  const body = await unlessStatus(404, getJson<{ SizeRw?: unknown }>(docker, path, abortSignal, { size: true }));
  const size = body?.SizeRw;
  return typeof size === "number" && size >= 0 ? size : undefined;
}

/** Docker 29 fails if containerd has no metrics on this machine; earlier versions return nothing, or zeros. */
function ignoreMissingMetrics(error: unknown): undefined {
  if (!hasStatus(error, 500) || !String(error).includes("no metrics received")) throw error;
}
