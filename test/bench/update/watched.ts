import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LossyLink } from "../../support/link/lossy-link.ts";
import { processorMs, residentBytes } from "../process-usage.ts";

/** What work has cost. Bytes are those that came over the link. */
export interface Cost {
  readonly received: number;
  readonly sent: number;
  readonly ms: number;
}

/** The same with what it took of the agent's process. */
export interface AgentCost extends Cost {
  readonly processorMs: number;
  /** The most above the memory before, in bytes. */
  readonly memory: number;
  /** The most above what the state directory had before, in bytes. */
  readonly disk: number;
}

const INTERVAL_MS = 20;
const DISK_EVERY = 10;

export async function measured(link: LossyLink, work: () => Promise<unknown>): Promise<Cost> {
  const [received, sent, start] = [link.received, link.sent, performance.now()];
  await work();
  return { received: link.received - received, sent: link.sent - sent, ms: performance.now() - start };
}

export async function watched(
  link: LossyLink,
  agent: { readonly pid: number; readonly directory: string },
  work: () => Promise<unknown>,
): Promise<AgentCost> {
  const { pid, directory } = agent;
  const before = { memory: residentBytes(pid), processor: processorMs(pid), disk: await sizeBelow(directory) };
  let [memory, disk] = [before.memory, before.disk];
  const over = new AbortController();
  const watching = (async () => {
    for (let round = 0; !over.signal.aborted; round++, await sleep(INTERVAL_MS)) {
      memory = Math.max(memory, residentBytes(pid));
      if (round % DISK_EVERY === 0) disk = Math.max(disk, await sizeBelow(directory));
    }
  })();
  const cost = await measured(link, work).finally(() => over.abort());
  await watching;
  const processor = processorMs(pid) - before.processor;
  return { ...cost, processorMs: processor, memory: memory - before.memory, disk: disk - before.disk };
}

async function sizeBelow(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries.map(async (entry) => {
    // Files come and go while they are counted.
    const facts = entry.isFile() ? await stat(join(entry.parentPath, entry.name)).catch(() => undefined) : undefined;
    return (facts?.blocks ?? 0) * 512;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
