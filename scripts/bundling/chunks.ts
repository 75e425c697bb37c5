import { resolve } from "node:path";
import type { ChunkingContext, CodeSplittingGroup } from "rolldown";

/**
 * Entries that are loaded at one start of a program, by a name for the chunk. The earlier ones of the list are the more
 * common: their chunk has no module that only later ones need.
 */
export type Starts = Readonly<Record<string, readonly string[]>>;

type Modules = Pick<ChunkingContext, "getModuleInfo">;

/**
 * Puts the modules that a start loads into few files: resolving, opening and linking a file costs the same for any size,
 * and there would be dozens. There is one chunk for each set of starts that load the same modules. Since a module's imports are
 * loaded by all starts that load the module, no chunk imports one that imports it.
 *
 * Dynamic imports are not followed: what they load stays in files of its own. So do the entries: one that awaits at its top
 * level would otherwise wait for a chunk that waits for it.
 */
export function groupsOf(starts: Starts): CodeSplittingGroup[] {
  let loadedBy: ReadonlyMap<string, string> | undefined;
  const name = (moduleId: string, modules: Modules): string | null => {
    loadedBy ??= chunkNames(starts, modules);
    return loadedBy.get(moduleId) ?? null;
  };
  return [{ name, debugName: "starts", includeDependenciesRecursively: false }];
}

/** Returns the chunk of each module that a start loads, by the module's id. */
function chunkNames(starts: Starts, modules: Modules): Map<string, string> {
  const isEntry = new Set(Object.values(starts).flatMap((entries) => entries.map((entry) => resolve(entry))));
  const names = new Map<string, string[]>();
  for (const [start, entries] of Object.entries(starts)) {
    const paths = entries.map((entry) => resolve(entry));
    for (const module of staticImports(paths, modules)) {
      if (isEntry.has(module)) continue;
      names.set(module, [...(names.get(module) ?? []), start]);
    }
  }
  return new Map([...names].map(([module, by]) => [module, by.join("-")]));
}

/** Returns the modules that are loaded with the entries. */
function staticImports(entries: readonly string[], modules: Modules): Set<string> {
  const found = new Set<string>();
  const waiting = [...entries];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    waiting.push(...(modules.getModuleInfo(id)?.importedIds ?? []));
  }
  return found;
}
