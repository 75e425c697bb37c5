import { resolve } from "node:path";
import type { ChunkingContext } from "rolldown";
import { describe, expect, it } from "vitest";
import { groupsOf, type Part } from "../../../../scripts/bundling/chunks.ts";

/** Imports by module. */
const GRAPH: Readonly<Record<string, readonly string[]>> = {
  daemon: ["store", "engine", "time"],
  command: ["client", "time", "text"],
  store: ["text"],
  engine: ["text", "errors"],
  errors: [],
  client: ["errors"],
  time: [],
  text: [],
  lazy: ["store"],
};

/** Returns the part of each module. */
function partsOf(parts: readonly Part[]): Record<string, string | null> {
  const modules = {
    getModuleInfo: (id) => ({
      importedIds: GRAPH[id.slice(resolve("").length + 1)]?.map((name) => resolve(name)) ?? [],
    }),
  } as Pick<ChunkingContext, "getModuleInfo"> as ChunkingContext;
  const [group] = groupsOf(parts);
  if (typeof group?.name !== "function") throw new Error("a group without a function");
  const { name } = group;
  return Object.fromEntries(Object.keys(GRAPH).map((module) => [module, name(resolve(module), modules) ?? null]));
}

describe("parts of a bundle", () => {
  const parts = partsOf([
    { name: "shared", entries: ["command"], sharedWith: ["daemon"] },
    { name: "command", entries: ["command"] },
    { name: "engine", entries: ["engine"] },
    { name: "daemon", entries: ["daemon"] },
  ]);

  it("have each module once, in the first part that imports it", () => {
    expect(parts).toMatchObject({
      text: "shared",
      time: "shared",
      errors: "shared",
      client: "command",
      store: "daemon",
    });
  });

  it("leave entries, and what only dynamic imports load, in files of their own", () => {
    expect(parts).toMatchObject({ daemon: null, command: null, engine: null, lazy: null });
  });

  it("import only earlier ones", () => {
    const order = ["shared", "command", "engine", "daemon"];
    for (const [module, imports] of Object.entries(GRAPH)) {
      const own = parts[module];
      if (own == null) continue;
      for (const imported of imports)
        expect(order.indexOf(parts[imported] ?? "")).toBeLessThanOrEqual(order.indexOf(own));
    }
  });
});
