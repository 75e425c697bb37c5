import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { AppFigures } from "../../protocol/link/app-health.ts";
import { namesIn, textOf } from "./kernel-files.ts";

/** Apps that are measured. */
const MAX_SAMPLED_APPS = 64;

/** Where engines put the groups of containers, by their drivers for control groups. */
const PARENTS = ["system.slice", "docker", "machine.slice", "libpod_parent"];
const namesOf = (id: string): readonly string[] => [`docker-${id}.scope`, id, `libpod-${id}.scope`, `libpod-${id}`];

export interface AppSamplerOptions {
  readonly apps: () => readonly { readonly name: string; readonly containerId: string }[];
  readonly clock: Clock;
  /** Mount point of the control groups. */
  readonly root?: string;
}

/** The control group of a container's run. */
interface Group {
  readonly cpu: string;
  readonly memory: string;
  /** Of its directory: another run of the container has another one. */
  readonly inode: bigint;
}

interface Seen {
  readonly group: Group;
  readonly cpuMs: number | undefined;
  readonly atMs: number;
}

/**
 * Measures what apps use by the files of their control groups, of either version. The engine is not asked: it would take longer than all
 * else that the agent does in a minute. What cannot be read is left out.
 */
export class AppSampler {
  readonly #options: AppSamplerOptions;
  readonly #root: string;
  /** By the container's id. */
  #seen: ReadonlyMap<string, Seen> = new Map();

  constructor(options: AppSamplerOptions) {
    this.#options = options;
    this.#root = options.root ?? "/sys/fs/cgroup";
  }

  /** What apps that run use now, by name. The processors' use is that since the sample before. */
  sample(): ReadonlyMap<string, AppFigures> {
    const { apps, clock } = this.#options;
    const seen = new Map<string, Seen>();
    const found = new Map<string, AppFigures>();
    for (const { name, containerId } of apps().slice(0, MAX_SAMPLED_APPS)) {
      const before = this.#seen.get(containerId);
      const group = this.#find(containerId, before?.group);
      if (!group) {
        // When it runs again, that is another run.
        if (before) seen.set(containerId, before);
        continue;
      }
      const now = { group, cpuMs: this.#cpuMs(group), atMs: clock.monotonic() };
      seen.set(containerId, now);
      const isRestarted = before !== undefined && before.group.inode !== group.inode;
      const cpu = before && !isRestarted ? percentBetween(before, now) : undefined;
      const memory = this.#memoryBytes(group);
      if (cpu === undefined && memory === undefined) continue;
      found.set(name, {
        ...(cpu !== undefined && { cpu_percent: [cpu, cpu] }),
        ...(memory !== undefined && { memory_bytes: [memory, memory] }),
        restarts: isRestarted ? 1 : 0,
      });
    }
    this.#seen = seen;
    return found;
  }

  #find(id: string, before: Group | undefined): Group | undefined {
    const isUnified = existsSync(join(this.#root, "cgroup.controllers"));
    const [cpu, memory] = isUnified ? ["", ""] : ["cpuacct", "memory"];
    const base = join(this.#root, cpu);
    const path = before?.cpu ?? candidates(base, id).find((each) => existsSync(each));
    const inode = path === undefined ? undefined : inodeOf(path);
    if (path === undefined || inode === undefined) return undefined;
    return { cpu: path, memory: join(this.#root, memory, path.slice(base.length)), inode };
  }

  #cpuMs({ cpu }: Group): number | undefined {
    const usec = numberOf(/^usage_usec (\d+)$/m.exec(textOf(join(cpu, "cpu.stat")))?.[1]);
    if (usec !== undefined) return usec / 1e3;
    const ns = numberOf(textOf(join(cpu, "cpuacct.usage")).trim());
    return ns === undefined ? undefined : ns / 1e6;
  }

  /** Without what the kernel can take back, as `docker stats` counts it. */
  #memoryBytes({ memory }: Group): number | undefined {
    const text = textOf(join(memory, "memory.current")) || textOf(join(memory, "memory.usage_in_bytes"));
    const used = numberOf(text.trim());
    if (used === undefined) return undefined;
    const stat = textOf(join(memory, "memory.stat"));
    const reclaimable = /^total_inactive_file (\d+)$/m.exec(stat) ?? /^inactive_file (\d+)$/m.exec(stat);
    return Math.max(0, used - (numberOf(reclaimable?.[1]) ?? 0));
  }
}

function percentBetween(before: Seen, now: Seen): number | undefined {
  if (before.cpuMs === undefined || now.cpuMs === undefined || now.atMs <= before.atMs) return undefined;
  return (Math.max(0, now.cpuMs - before.cpuMs) / (now.atMs - before.atMs)) * 100;
}

function candidates(base: string, id: string): readonly string[] {
  // Engines without root.
  const users = namesIn(join(base, "user.slice"))
    .flatMap((slice) => /^user-(\d+)\.slice$/.exec(slice)?.[1] ?? [])
    .flatMap((uid) =>
      ["user.slice", "app.slice"].map((last) => join("user.slice", `user-${uid}.slice`, `user@${uid}.service`, last)),
    );
  return [...PARENTS, ...users].flatMap((parent) => namesOf(id).map((name) => join(base, parent, name)));
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,19}$/.test(text) ? Number(text) : undefined;
}

function inodeOf(path: string): bigint | undefined {
  try {
    return statSync(path, { bigint: true }).ino;
  } catch {
    return undefined;
  }
}
