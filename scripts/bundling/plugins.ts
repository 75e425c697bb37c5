import { EventEmitter } from "node:events";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import type { Plugin } from "rolldown";

const BUILTIN_PREFIX = "\0builtin:";
const BUNDLER_PREFIX = "\0rolldown/";
const LAZY_OBJECT = fileURLToPath(import.meta.resolve("./lazy-object.ts"));
const STUB_PREFIX = "\0stub:";

/** Whether a module was created by `lazyBuiltins`. */
export function isLazyBuiltin(id: string): boolean {
  return id.startsWith(BUILTIN_PREFIX);
}

/**
 * Replaces imports of Node.js's builtin modules with objects that load the module when one of its properties is first
 * read. An ES `import` reads every property, including those that load a large part of Node.js: `import "node:http"`
 * loads all of fetch, which costs 16 MB of memory and 30 ms in a program that never fetches. Modules that only a rare
 * function uses, such as `node:child_process`, cost up to 3 MB and 10 ms each.
 *
 * Code that creates a subclass or destructures an import when it is loaded still loads the builtin module then.
 */
export function lazyBuiltins(): Plugin {
  return {
    name: "lazy-builtins",
    // The bundler's own helpers are loaded before everything else, also before these modules.
    resolveId: (id, importer) => (isBuiltin(id) && !importer?.startsWith(BUNDLER_PREFIX) ? BUILTIN_PREFIX + id : null),
    load(id) {
      if (!isLazyBuiltin(id)) return null;
      const name = id.slice(BUILTIN_PREFIX.length);
      return canBeLazy(name)
        ? `module.exports = require(${JSON.stringify(LAZY_OBJECT)}).lazyObject(() => process.getBuiltinModule("${name}"));`
        : `module.exports = process.getBuiltinModule("${name}");`;
    },
  };
}

/** Whether an object can stand for the module: not for a function, and not for one whose methods use `this`. */
function canBeLazy(name: string): boolean {
  const builtin: unknown = process.getBuiltinModule(name);
  return typeof builtin === "object" && !(builtin instanceof EventEmitter);
}

/** Packages that are kept out of a bundle. */
export interface StubbedPackages {
  /** Imported by a library but never used: importing succeeds, calling throws an error with the package's name. */
  readonly unused: readonly string[];
  /** Optional for a library: importing fails, so that the library uses its fallback. */
  readonly absent: readonly string[];
}

/** Replaces packages with stubs. */
export function stubPackages({ unused, absent }: StubbedPackages): Plugin {
  return {
    name: "stub-packages",
    resolveId: (id) => (unused.includes(id) || absent.includes(id) ? STUB_PREFIX + id : null),
    load(id) {
      if (!id.startsWith(STUB_PREFIX)) return null;
      const name = id.slice(STUB_PREFIX.length);
      return absent.includes(name) ? `throw new Error(${JSON.stringify(`${name} is not installed`)});` : stub(name);
    },
  };
}

const stub = (name: string): string => `
  function leftOut() { throw new Error(${JSON.stringify(`${name} is not part of this build`)}); }
  module.exports = new Proxy(leftOut, { get: (_, property) => (property === "__esModule" ? undefined : leftOut) });
`;
