import { splitDeployRequest } from "../../protocol/apps/deploy-request.ts";
import { noteOutside, readBounded, readWholeDirectory } from "../compose/local-content.ts";
import { refuseUnknownKey } from "../compose/unknown.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import { type DocumentNode, placeOf, toJson } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import { Value } from "../documents/value.ts";
import { contentFields } from "../documents/file-content.ts";
import type { WrittenGroup, WrittenApp, WrittenDependency, WrittenPort } from "../group/written-group.ts";
import { projectName } from "../group/project-name.ts";

export interface EdgeFileOptions {
  readonly project: string | undefined;
  readonly path: string | undefined;
  readonly local: LocalFiles;
  readonly problems: Problems;
}

/** Whether a document is a file of several apps: `{name, apps: {NAME: {…}}}`. */
export function isEdgeFile(root: DocumentNode): boolean {
  return root.kind === "map" && root.entries.some(({ key }) => key === "apps");
}

/**
 * Reads a file of several apps, each as the API takes it, with `depends_on`, and with `files[].from` for a file or directory
 * beside this one. What is wrong is added to `problems`; fields are validated later.
 */
export function readEdgeFile(document: DocumentNode, options: EdgeFileOptions): WrittenGroup {
  const root = new Value(document, options.problems);
  const fields = root.fields();
  const { options: given, spec: rest } = splitDeployRequest(toJson(document) as object);
  for (const key of Object.keys(rest)) {
    const value = fields.get(key);
    if (value && key !== "name" && key !== "apps")
      refuseUnknownKey(key, value, ["name", "apps", "urgent", "max_download_bytes"]);
  }
  const apps = fields.get("apps")?.fields() ?? new Map<string, Value>();
  if (fields.has("apps") && apps.size === 0) root.refuse("The file has no apps.");
  return {
    project: projectName(fields.get("name")?.text(), root, options),
    apps: [...apps].map(([name, value]) => readApp(name, value, options)),
    options: given,
  };
}

function readApp(name: string, value: Value, { local }: EdgeFileOptions): WrittenApp {
  const fields = value.fields();
  const inside = fields.get("name");
  if (inside && inside.text() !== name) inside.refuse(`differs from ${name}, the name in \`apps\`.`, "Remove it.");
  const ports = readPorts(fields.get("ports"), fields.get("host_network"));
  const entries = [...fields].flatMap(([key, field]) => {
    if (key === "name" || key === "depends_on" || (key === "ports" && ports)) return [];
    return [[key, key === "files" ? readFiles(field, local) : toJson(field.node)] as const];
  });
  const dependencies = fields.get("depends_on");
  return {
    name,
    path: value.path,
    place: value.place,
    fields: Object.fromEntries(entries),
    ports: ports ?? [],
    dependsOn: dependencies ? readDependencies(dependencies) : [],
    placeOf: (path) => (fields.has(String(path[0])) ? placeOf(value.node, path) : value.place),
  };
}

/** The ports, if all are written as they should be. `undefined`: the schema says what is wrong. */
function readPorts(value: Value | undefined, hostNetwork: Value | undefined): WrittenPort[] | undefined {
  if (value?.node.kind !== "list" || (hostNetwork && toJson(hostNetwork.node) === true)) return undefined;
  const ports: WrittenPort[] = [];
  for (const item of value.items()) {
    const entry = toJson(item.node);
    if (typeof entry !== "object" || entry === null) return undefined;
    const { host_port, target_port, protocol = "tcp", host_address, ...others } = entry as Record<string, unknown>;
    const isPort = (host_port === undefined || isInteger(host_port)) && isInteger(target_port);
    if (host_address !== undefined && typeof host_address !== "string") return undefined;
    if (!isPort || (protocol !== "tcp" && protocol !== "udp") || Object.keys(others).length > 0) return undefined;
    ports.push({
      hostPort: host_port,
      targetPort: target_port,
      protocol,
      hostAddress: host_address,
      path: item.path,
      place: item.place,
    });
  }
  return ports;
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value);
}

/** Replaces `from` by the content of the file that it names. */
function readFiles(value: Value, local: LocalFiles): unknown {
  return value.isList ? value.items().map((item) => readFile(item, local)) : toJson(value.node);
}

function readFile(item: Value, local: LocalFiles): unknown {
  const from = item.isMap ? item.fields().get("from") : undefined;
  if (!from) return toJson(item.node);
  const { from: _, ...others } = toJson(item.node) as Record<string, unknown>;
  const name = from.text();
  if (name === undefined) return others;
  noteOutside(from, name, local);
  const kind = local.kindOf(name);
  if (kind === "directory") return { ...others, ...readWholeDirectory(from, name, local) };
  if (kind !== "file") from.refuse(`names ${name}, which is not a file here.`);
  const bytes = kind === "file" ? readBounded(from, name, local) : undefined;
  return bytes ? { ...others, ...contentFields(bytes) } : others;
}

/** `[a, b]`, `{a: healthy}`, or `[{app: a, condition: healthy}]` as in the API. */
function readDependencies(value: Value): WrittenDependency[] {
  if (!value.isList) {
    return [...value.fields()].flatMap(([app, item]) => dependency(app, item, item));
  }
  return value.items().flatMap((item) => {
    if (!item.isMap) return dependency(item.text(), undefined, item);
    const fields = item.fields();
    for (const [key, field] of fields)
      if (key !== "app" && key !== "condition") refuseUnknownKey(key, field, ["app", "condition"]);
    if (!fields.has("app")) item.refuse("needs `app`.");
    return dependency(fields.get("app")?.text(), fields.get("condition"), item);
  });
}

function dependency(app: string | undefined, condition: Value | undefined, at: Value): WrittenDependency[] {
  const text = condition ? condition.text() : "started";
  if (app === undefined || text === undefined) return [];
  if (text === "started" || text === "healthy" || text === "completed")
    return [{ app, condition: text, place: at.place }];
  condition?.refuse("must be started, healthy or completed.");
  return [];
}
