import { dirname, isAbsolute, join } from "node:path";
import { convertCompose, isCompose } from "../compose/convert.ts";
import { MAX_ENV_FILE_BYTES, parseEnvFile } from "../compose/env-file.ts";
import type { Lookup } from "../compose/interpolate.ts";
import { loadDocument } from "../documents/load.ts";
import type { DocumentNode } from "../documents/node.ts";
import type { UploadSource } from "../documents/large-content.ts";
import { type LocalFiles, localFiles } from "../documents/local-files.ts";
import { Problems } from "../documents/problems.ts";
import { usageFailure } from "../failure.ts";
import { looksLikeYaml } from "../../lib/looks-like-yaml.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { decodeText, type Io } from "../io.ts";
import type { WrittenGroup } from "../group/written-group.ts";
import { isEdgeFile, readEdgeFile } from "./edge-file.ts";

const ENV_FILE = ".env";

/** A file as it was named on the command line. */
export interface NamedText {
  readonly text: string;
  /** As messages call it. */
  readonly fileName: string;
  /** `undefined` for standard input. */
  readonly path: string | undefined;
}

export interface GroupFileOptions {
  /** Profiles of a compose file. */
  readonly profiles?: readonly string[];
  /** Whether several services of a compose file may write to one named volume. */
  readonly sharedVolumes?: boolean;
  /** Where the images of services are that a compose file builds without a name. */
  readonly buildRegistry?: string | undefined;
  readonly project: string | undefined;
  /** In place of `.env`; variables of a later one take precedence. */
  readonly envFiles: readonly string[];
  readonly env: Io["env"];
}

/** A file of several apps. Its problems are complete once ports and schema are checked too. */
export interface GroupFile {
  readonly written: WrittenGroup;
  readonly problems: Problems;
  /** What its apps name and was packed here, by hash. */
  readonly uploads: ReadonlyMap<string, UploadSource>;
}

/**
 * Reads a compose file, or a file of several apps. Several files are compose files, each merged with the ones before it.
 * Returns `undefined` for a file of one app. Errors: exit code 2 for a file that is not valid YAML or JSON.
 */
export function readGroupFile(
  [first, ...others]: readonly [NamedText, ...NamedText[]],
  options: GroupFileOptions,
): GroupFile | undefined {
  const { project, envFiles, env, profiles = [], sharedVolumes = false, buildRegistry } = options;
  const { text, fileName, path } = first;
  const isOnly = others.length === 0;
  if (isOnly && !looksLikeYaml(text, fileName) && !hasApps(parseJson(text.replace(/^\uFEFF/, ""), "file")))
    return undefined;
  const problems = new Problems(fileName);
  const documents = [
    loadDocument(text, problems),
    ...others.map((other) => loadDocument(other.text, problems, other.fileName)),
  ].filter((document) => document !== undefined);
  problems.throwIfAny();
  const [document] = documents;
  if (!document) return undefined;
  const local = localFiles(path === undefined ? process.cwd() : dirname(path));
  if (isOnly && isEdgeFile(document)) {
    return { written: readEdgeFile(document, { project, path, local, problems }), problems, uploads: local.uploads };
  }
  if (isOnly && !isCompose(document)) return undefined;
  requireCompose([first, ...others], documents);
  const named = new Map<string, Problems>();
  const problemsIn = (name: string): Problems => {
    const found = named.get(name) ?? new Problems(name);
    named.set(name, found);
    return found;
  };
  // Editors look for a file where they look for the first one, in whose directory its name begins.
  const problemsOf = (name: string): Problems =>
    problemsIn(path === undefined || isAbsolute(name) ? name : join(dirname(fileName), name));
  const lookup = readVariables(envFiles, env, local, { problemsIn, problemsOf });
  const compose = { project, path, lookup, local, problems, problemsOf, profiles, sharedVolumes, buildRegistry };
  const written = convertCompose(documents, compose);
  for (const other of named.values()) problems.include(other);
  return { written, problems, uploads: local.uploads };
}

/** Any of several files may lack `services`, but none has apps of another format. */
function requireCompose(files: readonly NamedText[], documents: readonly DocumentNode[]): void {
  const other = documents.findIndex((document) => isEdgeFile(document));
  if (other !== -1) {
    throw usageFailure(
      `${files[other]?.fileName ?? "A file"} is no compose file; only these can be given together.`,
      "Give one file with -f.",
    );
  }
}

function hasApps(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("apps" in value || "services" in value);
}

/** The variables of the shell, then those of the files named on the command line, otherwise those of `.env`. */
function readVariables(
  envFiles: readonly string[],
  env: Io["env"],
  beside: LocalFiles,
  { problemsIn, problemsOf }: Readonly<Record<"problemsIn" | "problemsOf", (fileName: string) => Problems>>,
): Lookup {
  const inDirectory = localFiles(process.cwd());
  const values = new Map<string, string>();
  // As in compose, a directory of this name is none.
  const isBeside = !["missing", "directory"].includes(beside.kindOf(ENV_FILE));
  const byDefault = envFiles.length === 0 && isBeside ? [ENV_FILE] : [];
  const texts = [
    ...envFiles.map((name) => [problemsIn(name), readNamed(name, inDirectory)] as const),
    ...byDefault.map((name) => [problemsOf(name), readNamed(name, beside)] as const),
  ];
  for (const [problems, text] of texts) {
    for (const { key, value } of parseEnvFile(text, (other) => env[other] ?? values.get(other), problems)) {
      if (value !== undefined) values.set(key, value);
    }
  }
  return (name) => env[name] ?? values.get(name);
}

/** A pipe may be named on the command line, but must not stand where `.env` is looked for. */
function readNamed(name: string, files: LocalFiles): string {
  const kind = files.kindOf(name);
  if (kind === "directory" || (kind === "other" && name === ENV_FILE)) {
    throw usageFailure(`${name} is not a file that can be read.`, "Remove it, or name another with --env-file FILE.");
  }
  try {
    const content = kind === "file" && files.sizeOf(name) > MAX_ENV_FILE_BYTES ? undefined : files.read(name);
    if (content && content.length <= MAX_ENV_FILE_BYTES) return decodeText(content);
  } catch (error) {
    throw usageFailure(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown reason"}).`);
  }
  throw usageFailure(`${name} is larger than 256 KiB, the most that a file of variables may have.`);
}
