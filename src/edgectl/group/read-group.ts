import { dirname } from "node:path";
import { convertCompose, isCompose } from "../compose/convert.ts";
import { parseEnvFile } from "../compose/env-file.ts";
import type { Lookup } from "../compose/interpolate.ts";
import { loadDocument } from "../documents/load.ts";
import { localFiles } from "../documents/local-files.ts";
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
  if (!looksLikeYaml(text, fileName) && !hasApps(parseJson(text.replace(/^\uFEFF/, "")))) return undefined;
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
  const lookup = readVariables(
    envFiles,
    env,
    local.kindOf(ENV_FILE) === "missing" ? undefined : readNamed(ENV_FILE, local),
  );
  const draft = convertCompose(document, { project, path, lookup, local, problems, problemsOf });
  for (const other of named.values()) problems.include(other);
  return { draft, problems };
}

function hasApps(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("apps" in value || "services" in value);
}

/** The variables of the shell, then those of the files named on the command line, otherwise those of `.env`. */
function readVariables(envFiles: readonly string[], env: Io["env"], byDefault: Buffer | undefined): Lookup {
  const inDirectory = localFiles(process.cwd());
  const values = new Map<string, string>();
  const files =
    envFiles.length > 0
      ? envFiles.map((name) => [name, readNamed(name, inDirectory)] as const)
      : byDefault
        ? [[ENV_FILE, byDefault] as const]
        : [];
  for (const [name, content] of files) {
    const problems = new Problems(name);
    for (const { key, value } of parseEnvFile(content.toString("utf8"), (other) => env[other], problems)) {
      if (value !== undefined) values.set(key, value);
    }
    problems.throwIfAny();
  }
  return (name) => env[name] ?? values.get(name);
}

function readNamed(name: string, files: ReturnType<typeof localFiles>): Buffer {
  try {
    return files.read(name);
  } catch (error) {
    throw usageFailure(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown reason"}).`);
  }
}
