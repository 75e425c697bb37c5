import { type DocumentNode, type ListNode, type MapEntry, type MapNode, valueOf } from "../documents/node.ts";

/*
 * How a compose file is merged with one before it, and a service with the one that it extends: maps by their keys, lists by
 * appending, everything else by replacing. Where the Compose specification knows better, `RULES` says so. Paths have `*` for
 * the names of services, networks and volumes.
 */

/** Values that may come of merging: a chain of services that extend each other multiplies its lists. */
const MAX_MERGED = 100_000;

/** Thrown when merging comes to more than the bound. */
export class MergeError extends Error {}

/** Identifies an entry of a list: a later one replaces an earlier one of the same identity. */
type Identity = (item: DocumentNode) => string | undefined;

interface Rule {
  /** Brings both sides to one form before they are merged. */
  readonly normalize?: (node: DocumentNode) => DocumentNode;
  readonly identity?: Identity;
  /** The later one is all there is. */
  readonly replaces?: true;
}

const PAIRS: Rule = { normalize: (node) => mapOfPairs(node, "=") };
const HOSTS: Rule = { normalize: (node) => mapOfPairs(node, /[:=]/) };
const TEXTS: Rule = { normalize: listOf, identity: textOf };
const MOUNTS: Rule = { identity: mountTarget };

const RULES: Readonly<Record<string, Rule>> = {
  "services.*.annotations": PAIRS,
  "services.*.cap_add": TEXTS,
  "services.*.cap_drop": TEXTS,
  "services.*.command": { replaces: true },
  "services.*.configs": { identity: nameOrTarget },
  "services.*.depends_on": { normalize: mapOfNames },
  "services.*.deploy.labels": PAIRS,
  "services.*.devices": { identity: mountTarget },
  "services.*.dns": TEXTS,
  "services.*.dns_opt": TEXTS,
  "services.*.dns_search": TEXTS,
  "services.*.entrypoint": { replaces: true },
  "services.*.env_file": { normalize: listOf, identity: pathOf },
  "services.*.environment": PAIRS,
  "services.*.expose": TEXTS,
  "services.*.extra_hosts": HOSTS,
  "services.*.group_add": TEXTS,
  "services.*.healthcheck.test": { replaces: true },
  "services.*.labels": PAIRS,
  "services.*.networks": { normalize: mapOfNames },
  "services.*.ports": { identity: portOf },
  "services.*.secrets": { identity: nameOrTarget },
  "services.*.security_opt": TEXTS,
  "services.*.sysctls": PAIRS,
  "services.*.tmpfs": { normalize: listOf, identity: mountTarget },
  "services.*.ulimits.*": { replaces: true },
  "services.*.volumes": MOUNTS,
  "networks.*.labels": PAIRS,
  "volumes.*.labels": PAIRS,
};

const NAMED_SECTIONS = new Set(["services", "networks", "volumes", "configs", "secrets"]);

/** Merges documents or services. One merger has one bound. */
export class Merger {
  #count = 0;

  /** Merges two whole files. Throws `MergeError`. */
  files(earlier: DocumentNode, later: DocumentNode): DocumentNode {
    return this.#merge(earlier, later, []);
  }

  /** Merges a service with the one that it extends. Throws `MergeError`. */
  services(base: DocumentNode, own: DocumentNode): DocumentNode {
    return this.#merge(base, own, ["services", "*"]);
  }

  #merge(earlier: DocumentNode, later: DocumentNode, path: readonly string[]): DocumentNode {
    const rule = RULES[path.join(".")] ?? {};
    const isReplaced = later.tag !== undefined || rule.replaces === true || isDriverChange(earlier, later, path);
    if (isReplaced || isNull(later)) return isReplaced ? later : earlier;
    const [one, other] = [earlier, later].map(rule.normalize ?? ((node) => node)) as [DocumentNode, DocumentNode];
    if (one.kind === "map" && other.kind === "map") return this.#maps(one, other, path);
    if (one.kind === "list" && other.kind === "list") return this.#lists(one, other, rule.identity);
    return later;
  }

  #maps(earlier: MapNode, later: MapNode, path: readonly string[]): MapNode {
    this.#add(earlier.entries.length + later.entries.length);
    const entries = new Map(earlier.entries.map((entry) => [entry.key, entry]));
    for (const entry of later.entries) {
      const before = entries.get(entry.key);
      const merged = before
        ? { ...entry, value: this.#merge(before.value, entry.value, keyPath(path, entry.key)) }
        : entry;
      if (entry.value.tag === "reset") entries.delete(entry.key);
      else entries.set(entry.key, merged);
    }
    return { ...later, place: earlier.place, entries: [...entries.values()] };
  }

  #lists(earlier: ListNode, later: ListNode, identity: Identity | undefined): ListNode {
    const items = [...earlier.items, ...later.items];
    this.#add(items.length);
    return { ...later, place: earlier.place, items: identity ? lastOfEach(items, identity) : items };
  }

  #add(count: number): void {
    this.#count += count;
    if (this.#count <= MAX_MERGED) return;
    throw new MergeError(
      `The files have more than ${MAX_MERGED.toLocaleString("en")} values once they are merged, those of extended services counted each time.`,
    );
  }
}

/** Removes what is tagged `!reset` where nothing comes before it. */
export function withoutResets(node: DocumentNode): DocumentNode {
  if (node.kind === "list") return { ...node, items: node.items.map(withoutResets) };
  if (node.kind !== "map") return node;
  const entries = node.entries.flatMap(({ key, place, value }): MapEntry[] =>
    value.tag === "reset" ? [] : [{ key, place, value: withoutResets(value) }],
  );
  return { ...node, entries };
}

/** With another driver, the options of the earlier one mean nothing. */
function isDriverChange(earlier: DocumentNode, later: DocumentNode, path: readonly string[]): boolean {
  if (path.join(".") !== "services.*.logging") return false;
  const [before, after] = [valueOf(earlier, "driver"), valueOf(later, "driver")].map((node) => node && textOf(node));
  return after !== undefined && before !== after;
}

function keyPath(path: readonly string[], key: string): string[] {
  const isName = path.length === 1 && NAMED_SECTIONS.has(path[0] ?? "");
  return [...path, isName || path.join(".") === "services.*.ulimits" ? "*" : key];
}

/** Keeps the last of the entries with one identity, in the place of the first. */
function lastOfEach(items: readonly DocumentNode[], identity: Identity): DocumentNode[] {
  const kept = new Map<string | symbol, DocumentNode>();
  for (const item of items) kept.set(identity(item) ?? Symbol(), item);
  return [...kept.values()];
}

function isNull(node: DocumentNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

function textOf(node: DocumentNode): string | undefined {
  return node.kind === "scalar" ? node.source : undefined;
}

/** One text is a list of one. */
function listOf(node: DocumentNode): DocumentNode {
  return node.kind === "scalar" && !isNull(node) ? { kind: "list", place: node.place, items: [node] } : node;
}

/** `[KEY=VALUE]` as a map. A key without a value has null. */
function mapOfPairs(node: DocumentNode, separator: string | RegExp): DocumentNode {
  if (node.kind !== "list") return node;
  const entries = new Map<string, MapEntry>();
  for (const item of node.items) {
    if (item.kind !== "scalar") return node;
    const at = item.source.search(separator);
    const key = at === -1 ? item.source : item.source.slice(0, at);
    const source = at === -1 ? "" : item.source.slice(at + 1);
    const { tag: _, ...scalar } = item;
    entries.set(key, {
      key,
      place: item.place,
      value: { ...scalar, value: at === -1 ? null : source, source },
    });
  }
  return { kind: "map", place: node.place, entries: [...entries.values()] };
}

/** `[NAME]` as a map of names without settings. */
function mapOfNames(node: DocumentNode): DocumentNode {
  if (node.kind !== "list") return node;
  const entries = node.items.flatMap((item): MapEntry[] => {
    if (item.kind !== "scalar") return [];
    const { tag: _, ...scalar } = item;
    return [{ key: item.source, place: item.place, value: { ...scalar, value: null, source: "" } }];
  });
  return { kind: "map", place: node.place, entries };
}

function field(item: DocumentNode, name: string): string | undefined {
  const node = valueOf(item, name);
  return node && textOf(node);
}

function pathOf(item: DocumentNode): string | undefined {
  return textOf(item) ?? field(item, "path");
}

function nameOrTarget(item: DocumentNode): string | undefined {
  return textOf(item) ?? field(item, "target") ?? field(item, "source");
}

/** Of `SOURCE:TARGET:MODE`, `TARGET` alone, or the long syntax. */
export function mountTarget(item: DocumentNode): string | undefined {
  const text = textOf(item);
  if (text === undefined) return field(item, "target") ?? field(item, "source");
  const [source, target] = text.split(":");
  return target === undefined || !target.startsWith("/") ? source : target;
}

/** All of a port counts: two files may each publish it elsewhere. */
function portOf(item: DocumentNode): string | undefined {
  const text = textOf(item);
  if (text !== undefined) return text.replace(/\/tcp$/, "");
  const [address = "", published = "", target = "", protocol = "tcp"] = [
    "host_ip",
    "published",
    "target",
    "protocol",
  ].map((name) => field(item, name));
  const host = published === "" ? "" : `${published}:`;
  return `${address === "" ? "" : `${address}:`}${host}${target}${protocol === "tcp" ? "" : `/${protocol}`}`;
}
