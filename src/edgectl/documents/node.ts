/** A position in a text, both counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
  /** The file; absent for the one that the command names first. */
  readonly file?: string;
}

/** Tags by which a file says how it is merged with the files before it: without the value, or with this one alone. */
export type MergeTag = "reset" | "override";

export interface ScalarNode {
  readonly kind: "scalar";
  readonly place: Place;
  readonly value: string | number | boolean | null;
  /** As written, without quotes: `1.10` stays `1.10`. */
  readonly source: string;
  /** The variables that were put into it, by name. */
  readonly inserted?: ReadonlyMap<string, string>;
  /** A problem was added for it: it is read as nothing, and no other is added. */
  readonly isRefused?: true;
  /** The problem of one that is refused, added only if the value is used. */
  readonly refusal?: string;
  readonly tag?: MergeTag;
}

export interface ListNode {
  readonly kind: "list";
  readonly place: Place;
  readonly items: readonly DocumentNode[];
  readonly tag?: MergeTag;
}

export interface MapEntry {
  readonly key: string;
  /** Of the key. */
  readonly place: Place;
  readonly value: DocumentNode;
}

export interface MapNode {
  readonly kind: "map";
  readonly place: Place;
  readonly entries: readonly MapEntry[];
  readonly tag?: MergeTag;
}

/** A part of a YAML or JSON document with aliases and merge keys resolved. Aliased parts are shared, never circular. */
export type DocumentNode = ScalarNode | ListNode | MapNode;

/** The document as plain JSON. */
export function toJson(node: DocumentNode): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(toJson);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, toJson(value)]));
}

/** The value of a key; `undefined` if the node is no map or does not have it. */
export function valueOf(node: DocumentNode, key: string): DocumentNode | undefined {
  return node.kind === "map" ? node.entries.find((entry) => entry.key === key)?.value : undefined;
}

/** The place of what a path leads to, or of the deepest part that exists. */
export function placeOf(node: DocumentNode, path: readonly PropertyKey[]): Place {
  const [part, ...rest] = path;
  if (node.kind === "list" && typeof part === "number") {
    const item = node.items[part];
    return item ? placeOf(item, rest) : node.place;
  }
  if (node.kind !== "map") return node.place;
  const entry = node.entries.find(({ key }) => key === part);
  if (!entry) return node.place;
  return rest.length === 0 || entry.value.kind === "scalar" ? entry.place : placeOf(entry.value, rest);
}
