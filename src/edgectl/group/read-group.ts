import { dirname } from "node:path";
import { convertCompose, isCompose } from "../compose/convert.ts";
import { MAX_ENV_FILE_BYTES, parseEnvFile } from "../compose/env-file.ts";
import type { Lookup } from "../compose/interpolate.ts";
import { loadDocument } from "../documents/load.ts";
import { type LocalFiles, localFiles } from "../documents/local-files.ts";
import { Problems } from "../documents/problems.ts";
import { usageFailure } from "../failure.ts";
import { looksLikeYaml } from "../../lib/looks-like-yaml.ts";
import { parseJson } from "../../lib/parse-json.ts";
import type { Io } from "../io.ts";
import type { Draft } from "./draft.ts";
import { isEdgeFile, readEdgeFile } from "./edge-file.ts";

const ENV_FILE = ".env";

export interface GroupFileOptions {
  /** As messages call it. */
  readonly fileName: string;
  /** `undefined` for standard input. */
  readonly path: string | undefined;
  readonly project: string | undefined;
  /** In place of `.env`; variables of a later one take precedence. */
  readonly envFiles: readonly string[];
  readonly env: Io["env"];
}

/** A file of several apps. Its problems are complete once ports and schema are checked too. */
export interface GroupFile {
  readonly draft: Draft;
  readonly problems: Problems;
}

/**
 * Reads a compose file, or a file of several apps. Returns `undefined` for a file of one app. Errors: exit code 2 for a
 * file that is not valid YAML or JSON.
 */
export function readGroupFile(text: string, options: GroupFileOptions): GroupFile | undefined {
  const { fileName, path, project, envFiles, env } = options;
  if (!looksLikeYaml(text, fileName) && !hasApps(parseJson(text.replace(/^\uFEFF/, ""), "file"))) return undefined;
  const problems = new Problems(fileName);
  const document = loadDocument(text, problems);
  problems.throwIfAny();
  if (!document) return undefined;
  const local = localFiles(path === undefined ? process.cwd() : dirname(path));
  if (isEdgeFile(document)) return { draft: readEdgeFile(document, { project, path, local, problems }), problems };
  if (!isCompose(document)) return undefined;
  const named = new Map<string, Problems>();
  const problemsOf = (name: string): Problems => {
    const found = named.get(name) ?? new Problems(name);
    named.set(name, found);
    return found;
  };
  const lookup = readVariables(envFiles, env, local);
  const draft = convertCompose(document, { project, path, lookup, local, problems, problemsOf });
  for (const other of named.values()) problems.include(other);
  return { draft, problems };
}

function hasApps(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("apps" in value || "services" in value);
}

/** The variables of the shell, then those of the files named on the command line, otherwise those of `.env`. */
function readVariables(envFiles: readonly string[], env: Io["env"], beside: LocalFiles): Lookup {
  const inDirectory = localFiles(process.cwd());
  const values = new Map<string, string>();
  const byDefault = envFiles.length === 0 && beside.kindOf(ENV_FILE) !== "missing" ? [ENV_FILE] : [];
  const texts = [
    ...envFiles.map((name) => [name, readNamed(name, inDirectory)] as const),
    ...byDefault.map((name) => [name, readNamed(name, beside)] as const),
  ];
  for (const [name, text] of texts) {
    const problems = new Problems(name);
    for (const { key, value } of parseEnvFile(text, (other) => env[other], problems)) {
      if (value !== undefined) values.set(key, value);
    }
    problems.throwIfAny();
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
    if (content && content.length <= MAX_ENV_FILE_BYTES) return content.toString("utf8");
  } catch (error) {
    throw usageFailure(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown reason"}).`);
  }
  throw usageFailure(`${name} is larger than 256 KiB, the most that a file of variables may have.`);
}
