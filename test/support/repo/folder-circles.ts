import type { ModuleImports } from "./imports.ts";

type Graph = Map<string, Set<string>>;

/**
 * Finds circles of folders: for each folder, what its entries (folders and modules) import from each other. Returns each circle
 * with a folder in it as its entries, sorted; circles of modules within one folder are left out.
 */
export function folderCircles(modules: readonly ModuleImports[]): string[] {
  const graphs = new Map<string, Graph>();
  for (const { path, files } of modules) {
    for (const file of files) {
      const [home, from, to] = entriesOf(path.split("/"), file.split("/"));
      const graph = graphs.get(home) ?? new Map<string, Set<string>>();
      graphs.set(home, graph.set(from, (graph.get(from) ?? new Set()).add(to)));
    }
  }
  const circles = [...graphs].flatMap(([home, graph]) =>
    components(graph)
      .filter((entries) => entries.length > 1 && entries.some((entry) => !/\.tsx?$/.test(entry)))
      .map((entries) => `${home}: ${entries.toSorted().join(", ")}`),
  );
  return circles.toSorted();
}

/** Returns the innermost folder that has both, and the entries of it that lead to them. */
function entriesOf(from: readonly string[], to: readonly string[]): [string, string, string] {
  const depth = from.findIndex((part, index) => part !== to[index]);
  return [from.slice(0, depth).join("/"), from[depth] ?? "", to[depth] ?? ""];
}

/** Returns the sets of entries that reach each other, directly or through others. */
function components(graph: Graph): string[][] {
  const reached = new Map([...graph.keys()].map((entry) => [entry, reachableFrom(graph, entry)]));
  const found = new Map<string, string[]>();
  for (const [entry, others] of reached) {
    const circle = [...others].filter((other) => reached.get(other)?.has(entry)).toSorted();
    if (circle.length > 0) found.set(circle.join(), circle);
  }
  return [...found.values()];
}

function reachableFrom(graph: Graph, start: string): Set<string> {
  const reached = new Set<string>();
  const waiting = [...(graph.get(start) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(graph.get(next) ?? []));
  }
  return reached;
}
