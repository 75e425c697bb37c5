import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { loadDocument } from "../documents/load.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import { type DocumentNode, type MapEntry, type MapNode, valueOf } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import { Value } from "../documents/value.ts";
import { MAX_ENV_FILE_BYTES, parseEnvFile } from "./env-file.ts";
import type { Lookup } from "./interpolate.ts";
import { DocumentInterpolation } from "./interpolate-document.ts";
import { noteOutside, readBounded } from "./local-content.ts";
import { MergeError, Merger, withoutResets } from "./merge.ts";
import { rebaseFile } from "./rebase.ts";
import { refuseUnknown } from "./unknown.ts";

/** Files that a project may consist of. */
const MAX_FILES = 64;

/** Files that include each other, and services that extend each other, in one chain. */
const MAX_DEPTH = 16;

const SECTIONS = ["services", "networks", "volumes", "configs", "secrets"] as const;

export interface ProjectFilesOptions {
  readonly lookup: Lookup;
  readonly local: LocalFiles;
  readonly problems: Problems;
  readonly problemsOf: (fileName: string) => Problems;
}

/** A file of the project with the variables and the directory that it is read with. */
interface Setting {
  readonly lookup: Lookup;
  /** Relative to the directory of the project. */
  readonly directory: string;
  /** The files that led to this one. */
  readonly chain: readonly string[];
}

/**
 * Makes one document of the files of a project as compose does: expands the variables of each, resolves `extends` and
 * `include`, and merges each with the one before it. What is wrong is added to the problems.
 */
export function mergeProjectFiles(documents: readonly DocumentNode[], options: ProjectFilesOptions): DocumentNode {
  const files = new ProjectFiles(options);
  const [first, ...others] = documents.map((document) =>
    files.prepare(document, { lookup: options.lookup, directory: ".", chain: [] }),
  );
  if (!first) throw new TypeError("a project has a file");
  return files.merge([first, ...others], first.place);
}

class ProjectFiles {
  readonly #options: ProjectFilesOptions;
  readonly #interpolation: DocumentInterpolation;
  readonly #merger = new Merger();
  #count = 0;

  constructor(options: ProjectFilesOptions) {
    this.#options = options;
    this.#interpolation = new DocumentInterpolation(options.problems);
  }

  /** Resolves everything by which a file refers to others. */
  prepare(document: DocumentNode, setting: Setting): DocumentNode {
    const { directory, lookup } = setting;
    const root = rebaseFile(this.#interpolation.expand(document, lookup), directory);
    return this.#withIncluded(this.#withExtended(root, setting), setting);
  }

  /** Merges files in their order. */
  merge(documents: readonly DocumentNode[], place: DocumentNode["place"]): DocumentNode {
    try {
      return withoutResets(documents.reduce((earlier, later) => this.#merger.files(earlier, later)));
    } catch (error) {
      if (!(error instanceof MergeError)) throw error;
      this.#options.problems.add(place, error.message);
      return { kind: "map", place, entries: [] };
    }
  }

  #withExtended(root: DocumentNode, setting: Setting): DocumentNode {
    const services = valueOf(root, "services");
    if (root.kind !== "map" || services?.kind !== "map") return root;
    if (!services.entries.some(({ value }) => valueOf(value, "extends"))) return root;
    const extension = new Extension(this.#options, this.#merger, (name, at) => {
      const document = this.#read(name, at);
      return document && rebaseFile(this.#interpolation.expand(document, setting.lookup), posix.dirname(name));
    });
    const file = { services: byName(services), directory: setting.directory, name: "" };
    const entries = services.entries.map((entry) => ({ ...entry, value: extension.resolve(file, entry.key) }));
    return withEntry(root, "services", { ...services, entries });
  }

  #withIncluded(root: DocumentNode, setting: Setting): DocumentNode {
    const include = valueOf(root, "include");
    if (root.kind !== "map" || !include) return root;
    const { problems } = this.#options;
    const value = new Value(include, problems, "include");
    const rest: MapNode = { ...root, entries: root.entries.filter(({ key }) => key !== "include") };
    return value.items().reduce((document: MapNode, item) => {
      const included = this.#include(item, setting);
      return included ? this.#import(document, included, item) : document;
    }, rest);
  }

  #include(item: Value, setting: Setting): DocumentNode | undefined {
    const fields = item.isMap ? item.fields() : new Map<string, Value>();
    if (item.isMap) refuseUnknown(fields, ["path", "project_directory", "env_file"]);
    const paths = (item.isMap ? fields.get("path") : item)?.textOrTexts() ?? [];
    const [first] = paths;
    if (first === undefined) return item.refuse("needs `path`.");
    const inHere = (path: string): string => nameIn(this.#options.local, setting.directory, path);
    const names = paths.map(inHere);
    const repeated = names.find((name) => setting.chain.includes(name));
    if (repeated !== undefined) return item.refuse(`includes ${repeated}, which includes this file.`);
    if (setting.chain.length >= MAX_DEPTH) return item.refuse(`is more than ${MAX_DEPTH} files deep.`);
    const directory = inHere(fields.get("project_directory")?.text() ?? posix.dirname(first));
    const lookup = this.#variablesOf(item, fields.get("env_file"), directory, setting);
    const documents = names.map((name) => {
      const document = this.#read(name, item);
      return document && this.prepare(document, { lookup, directory, chain: [...setting.chain, name] });
    });
    const read = documents.filter((document) => document !== undefined);
    return read.length === documents.length ? this.merge(read, item.place) : undefined;
  }

  /** The variables of the including file take precedence. */
  #variablesOf(item: Value, named: Value | undefined, directory: string, setting: Setting): Lookup {
    const { local, problemsOf } = this.#options;
    const byDefault = posix.join(directory, ".env");
    const names = named?.textOrTexts().map((name) => nameIn(this.#options.local, setting.directory, name));
    const files = names ?? (directory !== "." && local.kindOf(byDefault) === "file" ? [byDefault] : []);
    const values = new Map<string, string>();
    for (const name of files) {
      const at = named ?? item;
      if (local.kindOf(name) !== "file") at.refuse(`names ${name}, which is not a file here.`);
      else if (local.sizeOf(name) > MAX_ENV_FILE_BYTES) at.refuse(`names ${name}, which is larger than 256 KiB.`);
      else {
        const text = readText(at, name, local) ?? "";
        for (const { key, value } of parseEnvFile(text, setting.lookup, problemsOf(name))) {
          if (value !== undefined) values.set(key, value);
        }
      }
    }
    return (name) => setting.lookup(name) ?? values.get(name);
  }

  /** Adds what an included file has. As in compose, what the file that includes it says of the same takes precedence. */
  #import(document: MapNode, included: DocumentNode, item: Value): MapNode {
    return SECTIONS.reduce((result: MapNode, section) => {
      const added = valueOf(included, section);
      if (added?.kind !== "map") return result;
      const own = valueOf(result, section);
      const entries = new Map(own?.kind === "map" ? own.entries.map((entry) => [entry.key, entry]) : []);
      for (const entry of added.entries) {
        const own = entries.get(entry.key);
        const merged = own && this.#override(section, entry, own, item);
        entries.set(entry.key, own && merged ? { ...own, value: merged } : entry);
      }
      return withEntry(result, section, {
        kind: "map",
        place: own?.place ?? added.place,
        entries: [...entries.values()],
      });
    }, document);
  }

  /** Merges what two files have under one name. */
  #override(section: string, earlier: MapEntry, later: MapEntry, { place }: Value): DocumentNode | undefined {
    const [one, other] = [earlier, later].map((entry) =>
      mapOf(place, [{ key: section, place, value: mapOf(place, [entry]) }]),
    ) as [MapNode, MapNode];
    const merged = valueOf(this.merge([one, other], place), section);
    return merged && valueOf(merged, later.key);
  }

  /** Reads another file of the project. `undefined`: its problems were added. */
  #read(name: string, at: Value): DocumentNode | undefined {
    const { local, problems, problemsOf } = this.#options;
    if (REMOTE.test(name)) {
      return at.refuse("names a file elsewhere on the network.", "Download it, and name it by its path.");
    }
    if (++this.#count > MAX_FILES) return at.refuse(`is one of more than ${MAX_FILES} files of the project.`);
    if (local.kindOf(name) !== "file") return at.refuse(`names ${name}, which is not a file here.`);
    noteOutside(at, name, local);
    const text = readText(at, name, local, MAX_DOCUMENT_BYTES);
    return text === undefined ? undefined : loadDocument(text, problems, problemsOf(name).fileName);
  }
}

function readText(at: Value, name: string, local: LocalFiles, maxBytes?: number): string | undefined {
  const bytes = readBounded(at, name, local, maxBytes);
  if (!bytes || isUtf8(bytes)) return bytes?.toString("utf8");
  return at.refuse(`names ${name}, which is not text in UTF-8.`);
}

/** A path that a file names, relative to the project's directory: what is beside an absolute one is on this machine too. */
function nameIn(local: LocalFiles, directory: string, path: string): string {
  return posix.isAbsolute(path) ? local.fromHere(path) : posix.join(directory, path);
}

/** An address, after paths were joined. */
const REMOTE = /(?:^|\/)(?:[a-z][a-z+]*:\/|git@)/;

/** As `loadDocument` accepts. */
const MAX_DOCUMENT_BYTES = 1024 * 1024;

/** The services of one file, to look up what a service extends. */
interface ServiceFile {
  readonly services: ReadonlyMap<string, DocumentNode>;
  readonly directory: string;
  /** Empty for the file whose services are resolved. */
  readonly name: string;
}

function byName(services: MapNode): ReadonlyMap<string, DocumentNode> {
  return new Map(services.entries.map(({ key, value }) => [key, value]));
}

/** Resolves `extends` of the services of one file, each service of each file once. */
class Extension {
  readonly #problems: Problems;
  readonly #local: LocalFiles;
  readonly #merger: Merger;
  readonly #readFile: (name: string, at: Value) => DocumentNode | undefined;
  readonly #files = new Map<string, ServiceFile | undefined>();
  readonly #resolved = new Map<string, DocumentNode>();

  constructor(
    { problems, local }: ProjectFilesOptions,
    merger: Merger,
    readFile: (name: string, at: Value) => DocumentNode | undefined,
  ) {
    this.#problems = problems;
    this.#local = local;
    this.#merger = merger;
    this.#readFile = readFile;
  }

  /** Returns a service of the file with what it extends. */
  resolve(from: ServiceFile, name: string, chain: readonly string[] = []): DocumentNode {
    const id = `${from.name}#${name}`;
    const done = this.#resolved.get(id);
    if (done) return done;
    const service = from.services.get(name);
    if (!service) throw new TypeError("the caller has found the service");
    const resolved = this.#extend(from, name, service, [...chain, id]);
    this.#resolved.set(id, resolved);
    return resolved;
  }

  #extend(from: ServiceFile, name: string, service: DocumentNode, chain: readonly string[]): DocumentNode {
    const node = valueOf(service, "extends");
    if (!node || service.kind !== "map") return service;
    const own: MapNode = { ...service, entries: service.entries.filter(({ key }) => key !== "extends") };
    const place = service.entries.find(({ key }) => key === "extends")?.place;
    const value = new Value(node, this.#problems, `services.${name}.extends`, place);
    const base = this.#baseOf(value, from, chain);
    if (!base) return withoutMissingImage(own);
    try {
      return this.#merger.services(base, own);
    } catch (error) {
      if (!(error instanceof MergeError)) throw error;
      return value.refuse(error.message) ?? own;
    }
  }

  #baseOf(value: Value, from: ServiceFile, chain: readonly string[]): DocumentNode | undefined {
    const fields = value.isMap ? value.fields() : new Map<string, Value>();
    if (value.isMap) refuseUnknown(fields, ["service", "file"]);
    const name = value.isMap ? fields.get("service")?.text() : value.text();
    if (name === undefined) return value.isMap ? value.refuse("needs `service`.") : undefined;
    const fileField = fields.get("file");
    const fileName = fileField?.text();
    if (fileField && fileName === undefined) return undefined;
    const file = fileName === undefined ? from : this.#file(nameIn(this.#local, from.directory, fileName), value);
    if (!file) return undefined;
    const id = `${file.name}#${name}`;
    if (chain.includes(id)) return value.refuse(`extends ${name}, which extends this service.`);
    if (chain.length > MAX_DEPTH) return value.refuse(`is more than ${MAX_DEPTH} services deep.`);
    if (file.services.has(name)) return this.resolve(file, name, chain);
    return value.refuse(`names the service ${name}, which is not in ${fileName ?? "this file"}.`);
  }

  #file(name: string, at: Value): ServiceFile | undefined {
    if (!this.#files.has(name)) {
      const document = this.#readFile(name, at);
      const services = document && valueOf(document, "services");
      if (document && services?.kind !== "map") at.refuse(`names ${name}, which has no services.`);
      const isFile = services?.kind === "map";
      this.#files.set(name, isFile ? { services: byName(services), directory: posix.dirname(name), name } : undefined);
    }
    return this.#files.get(name);
  }
}

/** What a service lacks may be in the one that it extends, which was refused: its image is not said to be missing. */
function withoutMissingImage(service: MapNode): MapNode {
  if (valueOf(service, "image")) return service;
  const { place } = service;
  return withEntry(service, "image", { kind: "scalar", place, value: "", source: "", isRefused: true });
}

function mapOf(place: MapNode["place"], entries: readonly MapEntry[]): MapNode {
  return { kind: "map", place, entries };
}

function withEntry(map: MapNode, key: string, value: DocumentNode): MapNode {
  const entry: MapEntry = { key, place: value.place, value };
  const isThere = map.entries.some((other) => other.key === key);
  const entries = isThere
    ? map.entries.map((other) => (other.key === key ? { ...other, value } : other))
    : [...map.entries, entry];
  return { ...map, entries };
}
