import { looksSecret } from "../../protocol/apps/secret-names.ts";
import type { DocumentNode, MapEntry } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import { interpolate, type Lookup, recordingLookup, TemplateError, UnsetVariableError } from "./interpolate.ts";

/** Characters of all texts with variables, expanded. */
const MAX_EXPANDED_LENGTH = 4 * 1024 * 1024;

/** Where an unset variable is nothing, as in compose: only the app reads it. Elsewhere it changes what is run or mounted. */
const MAY_BE_UNSET = /^services\.[^.]+\.(?:environment|labels)\b/;

/**
 * What a service has, which may be in a profile that is not chosen, or replaced by another file, and what only services refer
 * to. `extends` is read before.
 */
const MAY_BE_UNUSED = /^(?:services\.[^.]+\.(?!extends\b)|(?:networks|volumes|configs|secrets)\.)/;

/** Adds the problems of values that are used after all. */
export function refuseUnset(node: DocumentNode, problems: Problems): void {
  if (node.kind === "map") for (const { value } of node.entries) refuseUnset(value, problems);
  else if (node.kind === "list") for (const item of node.items) refuseUnset(item, problems);
  else if (node.refusal !== undefined) problems.add(node.place, node.refusal);
}

/** Expands the variables of the files of one project. What they come to is bounded in all. */
export class DocumentInterpolation {
  readonly #problems: Problems;
  #length = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** Expands the variables of all texts, keys excepted. The file's own extensions are left as they are. */
  expand(root: DocumentNode, lookup: Lookup): DocumentNode {
    return this.#expand(root, "", lookup);
  }

  #expand(node: DocumentNode, path: string, lookup: Lookup): DocumentNode {
    if (node.kind === "map") {
      return { ...node, entries: node.entries.map((entry) => this.#expandEntry(entry, path, lookup)) };
    }
    if (node.kind === "list") {
      return { ...node, items: node.items.map((item, index) => this.#expand(item, `${path}[${index}]`, lookup)) };
    }
    if (typeof node.value !== "string" || !node.value.includes("$")) return node;
    const inserted = new Map<string, string>();
    try {
      const onUnset = (name: string): void => this.#problems.note(node.place, `${path} ${unset(name)}`);
      const value = interpolate(
        node.value,
        recordingLookup(lookup, inserted),
        MAY_BE_UNSET.test(path) ? onUnset : undefined,
      );
      this.#length += value.length;
      if (this.#length > MAX_EXPANDED_LENGTH) {
        throw new TemplateError("makes the file longer than 4 MiB with the values of its variables.");
      }
      return { ...node, value, source: value, inserted };
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      const refusal = `${path} ${error.message}`;
      if (error instanceof UnsetVariableError && MAY_BE_UNUSED.test(path)) return { ...node, isRefused: true, refusal };
      this.#problems.add(node.place, refusal);
      return { ...node, isRefused: true };
    } finally {
      this.#hideSecrets(inserted);
    }
  }

  /** Messages name volumes, paths and images, and any of these may be made of a secret. */
  #hideSecrets(variables: ReadonlyMap<string, string>): void {
    for (const [key, value] of variables) {
      if (looksSecret({ key, value })) this.#problems.hide(value, `\${${key}}`);
    }
  }

  #expandEntry(entry: MapEntry, path: string, lookup: Lookup): MapEntry {
    if (path === "" && entry.key.startsWith("x-")) return entry;
    return { ...entry, value: this.#expand(entry.value, path === "" ? entry.key : `${path}.${entry.key}`, lookup) };
  }
}

function unset(name: string): string {
  return `uses the variable ${name}, which is not set: it is nothing, as in compose.`;
}
