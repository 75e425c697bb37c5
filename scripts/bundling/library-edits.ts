import type { Plugin } from "rolldown";

/** Edits of libraries by the path in node_modules. None changes the number of lines, so source maps stay valid. */
export type LibraryEdits = Readonly<Record<string, readonly (readonly [from: RegExp, to: string])[]>>;

/** What libraries do when they are loaded, postponed until it is needed: 50 ms of processor time of each command. */
export const LAZY_LIBRARIES: LibraryEdits = {
  // What only text that is not ASCII needs: creating a segmenter takes 12 ms, and reading an expression with all emoji as long.
  "string-width/index.js": [
    [
      /^const segmenter = new Intl\.Segmenter\(\);$/m,
      "const segmenter = { segment: (text) => new Intl.Segmenter().segment(text) };",
    ],
    // Not as a literal: V8 reads literals when it reads the functions that contain them.
    [
      /^const emojiPrefixRegex = \/(.*RGI_Emoji.*)\/v;$/m,
      "const emojiPrefixRegex = { test: (text) => emojiPrefix().test(text), exec: (text) => emojiPrefix().exec(text) }; const emojiPrefix = () => new RegExp(String.raw`$1`, 'v');",
    ],
  ],
};

/**
 * What zod keeps to describe schemas with: texts, functions for JSON Schema, and the schemas they were derived from, one
 * for each rule. Without them `edgectl` takes 6 MB less.
 */
export const ZOD_WITHOUT_DESCRIPTIONS: LibraryEdits = {
  "zod/v4/core/util.js": [[/cl\._zod\.parent = inst;/, ";"]],
  "zod/v4/classic/schemas.js": [
    // Descriptions and examples.
    [/const cl = this\.clone\(\);\n.*globalRegistry\.add\(cl, .*\);/g, "const cl = this;\n"],
    // What JSON Schema is made from: a function for each schema, and the module that makes it.
    [/inst\._zod\.processJSONSchema = \(ctx, json, params\) => .*;/g, ""],
    [/create(Standard|To)JSONSchemaMethod\(this, .*?\)/g, "undefined"],
  ],
};

/** Edits libraries while they are bundled. Fails when an edited file has changed, so that the edit is reviewed. */
export function editLibraries(edits: LibraryEdits): Plugin {
  return {
    name: "edit-libraries",
    transform(code, id) {
      const file = id.split("/node_modules/").slice(1).join("/node_modules/");
      const changes = edits[file];
      if (!changes) return null;
      const missing = changes.find(([from]) => code.search(from) === -1);
      if (missing) throw new Error(`${file} has changed: nothing in it matches ${missing[0]}`);
      return { code: changes.reduce((text, [from, to]) => text.replace(from, to), code), map: null };
    },
  };
}
