import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { uniqueName } from "../../support/images.ts";
import { waitFor } from "../../support/wait-for.ts";

const ROOT = "/sys/fs/cgroup";
const PERIOD_US = 100_000;
/** Version 1 has a hierarchy for each controller, version 2 one for all of them. */
const IS_VERSION_2 = existsSync(join(ROOT, "cgroup.controllers"));

export interface Limits {
  readonly processors: number;
  readonly memoryBytes: number;
}

/** A control group whose processes and containers share a limited processor and memory. Needs root. */
export interface LimitedGroup extends AsyncDisposable {
  /** For an engine's `cgroup-parent`. */
  readonly path: string;
  /** Prefix of a command that then runs in the group. */
  readonly wrapperCommand: readonly string[];
  /** Processes the kernel has killed for lack of memory. */
  killedForMemory(): Promise<number>;
  /** Most memory in use at once, with the page cache, in bytes. */
  peakBytes(): Promise<number>;
}

/** Creates the group. Disposing it waits until its processes have ended, and removes it. */
export async function createLimitedGroup({ processors, memoryBytes }: Limits): Promise<LimitedGroup> {
  const path = `/${uniqueName("small")}`;
  const directories = hierarchies().map((hierarchy) => join(hierarchy, path));
  const [memory = ""] = directories;
  const processor = directories.at(-1) ?? "";
  for (const directory of directories) await mkdir(directory);
  // Version 2 does not allow processes in a group that has groups, such as those of containers.
  const leaves = directories.map((directory) => join(directory, "processes"));
  const quota = Math.round(processors * PERIOD_US);
  if (IS_VERSION_2) {
    await writeFile(join(ROOT, "cgroup.subtree_control"), "+cpu +memory");
    await writeFile(join(memory, "cgroup.subtree_control"), "+cpu +memory");
    await writeFile(join(memory, "memory.max"), String(memoryBytes));
    await writeFile(join(memory, "cpu.max"), `${quota} ${PERIOD_US}`);
  } else {
    await writeFile(join(memory, "memory.limit_in_bytes"), String(memoryBytes));
    await writeFile(join(processor, "cpu.cfs_period_us"), String(PERIOD_US));
    await writeFile(join(processor, "cpu.cfs_quota_us"), String(quota));
  }
  for (const leaf of leaves) await mkdir(leaf);
  const enter = leaves.map((leaf) => `echo $$ > ${join(leaf, "cgroup.procs")}`).join(" && ");
  return {
    path,
    wrapperCommand: ["/bin/sh", "-c", `${enter} && exec "$@"`, "sh"],
    async killedForMemory() {
      const groups = [memory, ...(await groupsBelow(memory))];
      const file = IS_VERSION_2 ? "memory.events.local" : "memory.oom_control";
      const texts = await Promise.all(groups.map((group) => readFile(join(group, file), "utf8").catch(() => "")));
      return texts.reduce((sum, text) => sum + Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0), 0);
    },
    async peakBytes() {
      const file = IS_VERSION_2 ? "memory.peak" : "memory.max_usage_in_bytes";
      return Number(await readFile(join(memory, file), "utf8"));
    },
    async [Symbol.asyncDispose]() {
      for (const directory of [...leaves, ...directories]) await removeWhenEmpty(directory);
    },
  };
}

function hierarchies(): string[] {
  return IS_VERSION_2 ? [ROOT] : [join(ROOT, "memory"), join(ROOT, "cpu")];
}

async function groupsBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}

/** A process leaves its group shortly after it has ended. */
async function removeWhenEmpty(directory: string): Promise<void> {
  await waitFor(`${directory} to be empty`, async () => {
    for (const group of await groupsBelow(directory)) await rmdir(group).catch(() => undefined);
    await rmdir(directory);
    return true;
  });
}
