import { readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LossyLink } from "../../support/link/lossy-link.ts";
import { processorMs, residentBytes, treeProcessorMs } from "../process-usage.ts";

/** What work has cost. Bytes are those that came over the link. */
export interface Cost {
  readonly received: number;
  readonly sent: number;
  readonly ms: number;
  /** Processor time of the engine until it had the image; `undefined` if nothing is known of its process. */
  readonly engineMs: number | undefined;
}

/** The same with what it took of the agent's process. */
export interface AgentCost extends Cost {
  /** Until the engine had the image: what comes then is the same however it came. */
  readonly processorMs: number;
  /** The most above the memory before, in bytes. */
  readonly memory: number;
  /** The most above what the state directory had before, in bytes, with files that have no name. */
  readonly disk: number;
}

export interface Watched {
  readonly link: LossyLink;
  /** Process of the engine, if it is ours alone. */
  readonly enginePid: number | undefined;
}

interface Agent {
  readonly pid: number;
  readonly directory: string;
}

/** Must be called once the engine has the image. */
type OnImage = () => void;

const INTERVAL_MS = 20;
const DISK_EVERY = 10;

export async function measured({ link, enginePid }: Watched, work: () => Promise<unknown>): Promise<Cost> {
  const [received, sent, start] = [link.received, link.sent, performance.now()];
  const engine = engineMsOf(enginePid);
  await work();
  return {
    received: link.received - received,
    sent: link.sent - sent,
    ms: performance.now() - start,
    engineMs: engine && engine(),
  };
}

export async function watched(
  { link, enginePid }: Watched,
  agent: Agent,
  work: (onImage: OnImage) => Promise<unknown>,
): Promise<AgentCost> {
  const { pid } = agent;
  const before = { memory: residentBytes(pid), processor: processorMs(pid), disk: await diskOf(agent) };
  const engine = engineMsOf(enginePid);
  let [memory, disk] = [before.memory, before.disk];
  let atImage: Pick<AgentCost, "processorMs" | "engineMs"> | undefined;
  const onImage = (): void => {
    atImage ??= { processorMs: processorMs(pid) - before.processor, engineMs: engine && engine() };
  };
  const over = new AbortController();
  const watching = (async () => {
    for (let round = 0; !over.signal.aborted; round++, await sleep(INTERVAL_MS)) {
      memory = Math.max(memory, residentBytes(pid));
      if (round % DISK_EVERY === 0) disk = Math.max(disk, await diskOf(agent));
    }
  })();
  const cost = await measured({ link, enginePid: undefined }, () => work(onImage)).finally(() => over.abort());
  await watching;
  onImage();
  return {
    ...cost,
    processorMs: Number.NaN,
    ...atImage,
    memory: memory - before.memory,
    disk: disk - before.disk,
  };
}

/** Returns a function that tells the engine's processor time since now. */
function engineMsOf(pid: number | undefined): (() => number) | undefined {
  if (pid === undefined) return undefined;
  const before = treeProcessorMs(pid);
  return () => treeProcessorMs(pid) - before;
}

async function diskOf({ pid, directory }: Agent): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const named = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const unnamed = await unnamedFiles(pid, directory);
  // Files come and go while they are counted.
  const sizes = [...named, ...unnamed].map(async (path) => {
    return ((await stat(path).catch(() => undefined))?.blocks ?? 0) * 512;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Files in the directory that were removed and are still open: they take space until they are closed. */
async function unnamedFiles(pid: number, directory: string): Promise<string[]> {
  const descriptors = (await readdir(`/proc/${pid}/fd`)).map((number) => `/proc/${pid}/fd/${number}`);
  const names = await Promise.all(descriptors.map((path) => readlink(path).catch(() => "")));
  return descriptors.filter((_, index) => {
    const name = names[index] ?? "";
    return name.startsWith(`${directory}/`) && name.endsWith(" (deleted)");
  });
}
