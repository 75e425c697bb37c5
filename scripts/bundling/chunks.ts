import { resolve } from "node:path";
import type { ChunkingContext, CodeSplittingGroup } from "rolldown";

/** A file of a program. It has what its entries import, directly or not, as far as no earlier part has it. */
export interface Part {
  readonly name: string;
  readonly entries: readonly string[];
  /** Entries that must import a module too for it to be in this part. */
  readonly sharedWith?: readonly string[];
}

type Modules = Pick<ChunkingContext, "getModuleInfo">;

/**
 * Puts the modules that a start of the program loads into few files: resolving, opening and linking a file costs the same for
 * any size, and there would be dozens. One large file would be worse: what V8 allocates to parse it stays with the process as
 * gaps between other memory.
 *
 * A part's modules import only modules of the part and of earlier ones, so that no two files import each other. Dynamic
 * imports are not followed: what they load stays in files of its own. So do the entries: one that awaits at its top level
 * would otherwise wait for a file that waits for it.
 */
export function groupsOf(parts: readonly Part[]): CodeSplittingGroup[] {
  let partOf: ReadonlyMap<string, string> | undefined;
  const name = (moduleId: string, modules: Modules): string | null => {
    partOf ??= assignParts(parts, modules);
    return partOf.get(moduleId) ?? null;
  };
  return [{ name, debugName: "parts", includeDependenciesRecursively: false }];
}

/** Returns the part of each module, by the module's id. */
function assignParts(parts: readonly Part[], modules: Modules): Map<string, string> {
  const assigned = new Map<string, string>();
  for (const { name, entries, sharedWith } of parts) {
    const others = sharedWith && staticImports(sharedWith, modules);
    for (const module of staticImports(entries, modules)) {
      if (!assigned.has(module) && (!others || others.has(module))) assigned.set(module, name);
    }
  }
  for (const entry of parts.flatMap(({ entries }) => entries)) assigned.delete(resolve(entry));
  return assigned;
}

/** Returns the modules that are loaded with the entries, and the entries. */
function staticImports(entries: readonly string[], modules: Modules): Set<string> {
  const found = new Set<string>();
  const waiting = entries.map((entry) => resolve(entry));
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    waiting.push(...(modules.getModuleInfo(id)?.importedIds ?? []));
  }
  return found;
}
