import { posix } from "node:path";
import type { DocumentNode, MapNode, ScalarNode } from "../documents/node.ts";
import { isRemoteContext } from "./build.ts";

/*
 * Relative paths of a file in another directory: they are made relative to the directory of the project.
 */

type Change = (node: DocumentNode) => DocumentNode;

/** Returns a document whose relative paths begin in the project's directory. @param directory of the document, relative to it */
export function rebaseFile(root: DocumentNode, directory: string): DocumentNode {
  if (isHere(directory)) return root;
  const content = changeKey("file", rebasePath(directory));
  return change(root, {
    services: changeAll((service) => rebaseService(service, directory)),
    configs: changeAll(content),
    secrets: changeAll(content),
  });
}

/** The same for one service. */
function rebaseService(service: DocumentNode, directory: string): DocumentNode {
  if (isHere(directory)) return service;
  const path = rebasePath(directory);
  const context = rebaseContext(path);
  return change(service, {
    build: (node) => (node.kind === "map" ? changeKey("context", context)(node) : context(node)),
    env_file: (node) => (node.kind === "list" ? changeItems(envFile(path))(node) : envFile(path)(node)),
    volumes: changeItems((item) => {
      if (item.kind === "map") return isBind(item) ? changeKey("source", path)(item) : item;
      return item.kind === "scalar" && item.source.startsWith(".") ? rebaseMount(item, directory) : item;
    }),
  });
}

function isHere(directory: string): boolean {
  return directory === "." || directory === "";
}

function isBind(mount: MapNode): boolean {
  return mount.entries.some(({ key, value }) => key === "type" && value.kind === "scalar" && value.source === "bind");
}

/** An entry of `env_file` is a path, or has one. */
function envFile(path: Change): Change {
  return (node) => (node.kind === "map" ? changeKey("path", path)(node) : path(node));
}

function rebasePath(directory: string): Change {
  return (node) => {
    if (node.kind !== "scalar" || node.source === "" || /^[/~]/.test(node.source)) return node;
    return withText(node, inDirectory(directory, node.source));
  };
}

/** A context may be a repository. */
function rebaseContext(path: Change): Change {
  return (node) => (node.kind === "scalar" && isRemoteContext(node.source) ? node : path(node));
}

function rebaseMount(node: ScalarNode, directory: string): ScalarNode {
  const [source = "", ...rest] = node.source.split(":");
  return withText(node, [inDirectory(directory, source), ...rest].join(":"));
}

function inDirectory(directory: string, path: string): string {
  const joined = posix.join(directory, path);
  return /^\.\.?(?:\/|$)|^\//.test(joined) ? joined : `./${joined}`;
}

function withText(node: ScalarNode, text: string): ScalarNode {
  return { ...node, value: text, source: text };
}

function change(node: DocumentNode, changes: Readonly<Record<string, Change>>): DocumentNode {
  if (node.kind !== "map") return node;
  return {
    ...node,
    entries: node.entries.map((entry) => {
      const apply = Object.hasOwn(changes, entry.key) ? changes[entry.key] : undefined;
      return apply ? { ...entry, value: apply(entry.value) } : entry;
    }),
  };
}

function changeKey(key: string, apply: Change): Change {
  return (node) => change(node, { [key]: apply });
}

/** Changes each value of a map. */
function changeAll(apply: Change): Change {
  return (node) => {
    if (node.kind !== "map") return node;
    return { ...node, entries: node.entries.map((entry) => ({ ...entry, value: apply(entry.value) })) };
  };
}

function changeItems(apply: Change): Change {
  return (node) => (node.kind === "list" ? { ...node, items: node.items.map(apply) } : node);
}
