import { isBuiltin } from "node:module";
import type { Plugin } from "rolldown";

const BUILTIN_PREFIX = "\0builtin:";
const BUNDLER_PREFIX = "\0rolldown/";
const STUB_PREFIX = "\0stub:";

const EAGER_SEGMENTER = "const segmenter = new Intl.Segmenter();";
const LAZY_SEGMENTER = "const segmenter = { segment: (text) => new Intl.Segmenter().segment(text) };";

/** Whether a module was created by `lazyBuiltins`. */
export function isLazyBuiltin(id: string): boolean {
  return id.startsWith(BUILTIN_PREFIX);
}

/**
 * Replaces imports of Node.js's builtin modules with CommonJS access. An ES `import` reads every property of the
 * module, including those that load a large part of Node.js on first access: `import "node:http"` loads all of fetch,
 * which costs 16 MB of memory and 30 ms in a program that never fetches.
 */
export function lazyBuiltins(): Plugin {
  return {
    name: "lazy-builtins",
    // The bundler's own helpers are loaded before everything else, also before these modules.
    resolveId: (id, importer) => (isBuiltin(id) && !importer?.startsWith(BUNDLER_PREFIX) ? BUILTIN_PREFIX + id : null),
    load: (id) =>
      isLazyBuiltin(id) ? `module.exports = process.getBuiltinModule("${id.slice(BUILTIN_PREFIX.length)}");` : null,
  };
}

/**
 * Makes string-width create its segmenter on first use for non-ASCII text; created on import, it costs every command
 * 12 ms. Fails when the package has changed, so that this plugin is reviewed.
 */
export function lazySegmenter(): Plugin {
  return {
    name: "lazy-segmenter",
    transform(code, id) {
      if (!id.endsWith("/string-width/index.js")) return null;
      if (!code.includes(EAGER_SEGMENTER)) throw new Error("string-width no longer creates its segmenter as expected");
      // One line is replaced with one line, so the source map stays valid.
      return { code: code.replace(EAGER_SEGMENTER, LAZY_SEGMENTER), map: null };
    },
  };
}

/** Edits of zod's modules. None changes the number of lines, so the source map stays valid. */
const WITHOUT_DESCRIPTIONS: Readonly<Record<string, readonly (readonly [from: RegExp, to: string])[]>> = {
  "/zod/v4/core/util.js": [[/cl\._zod\.parent = inst;/, ";"]],
  "/zod/v4/classic/schemas.js": [
    // Descriptions and examples.
    [/const cl = this\.clone\(\);\n.*globalRegistry\.add\(cl, .*\);/g, "const cl = this;\n"],
    // What JSON Schema is made from: a function for each schema, and the module that makes it.
    [/inst\._zod\.processJSONSchema = \(ctx, json, params\) => .*;/g, ""],
    [/create(Standard|To)JSONSchemaMethod\(this, .*?\)/g, "undefined"],
  ],
};

/**
 * Makes schemas of zod keep nothing to describe them with: texts, functions for JSON Schema, and the schemas they were
 * derived from, one for each rule. In the agent this saves 1 MB. Fails when the package has changed, so that this plugin
 * is reviewed.
 */
export function withoutDescriptions(): Plugin {
  return {
    name: "without-descriptions",
    transform(code, id) {
      const [, edits] = Object.entries(WITHOUT_DESCRIPTIONS).find(([file]) => id.endsWith(file)) ?? [];
      if (!edits) return null;
      const missing = edits.find(([from]) => code.search(from) === -1);
      if (missing) throw new Error(`zod no longer describes schemas as expected: ${missing[0]}`);
      return { code: edits.reduce((text, [from, to]) => text.replace(from, to), code), map: null };
    },
  };
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
