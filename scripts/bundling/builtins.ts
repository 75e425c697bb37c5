import { isBuiltin } from "node:module";
import type { Plugin } from "rolldown";

const PREFIX = "\0builtin:";
const BUNDLER = "\0rolldown/";

/** Whether a module is one of those that `lazyBuiltins` makes. */
export function isLazyBuiltin(id: string): boolean {
  return id.startsWith(PREFIX);
}

/**
 * Lets a bundle take Node.js's own modules the old way. An `import` of one of them reads every property it has, also
 * those that load a large part of Node.js when they are first read: `import "node:http"` brings in the whole of fetch,
 * 16 MB of memory and 30 ms that a program which never fetches can do without.
 */
export function lazyBuiltins(): Plugin {
  return {
    name: "lazy-builtins",
    // The bundler's own helpers come before everything, also before what is made here.
    resolveId: (id, importer) => (isBuiltin(id) && !importer?.startsWith(BUNDLER) ? PREFIX + id : null),
    load: (id) =>
      id.startsWith(PREFIX) ? `module.exports = process.getBuiltinModule("${id.slice(PREFIX.length)}");` : null,
  };
}
