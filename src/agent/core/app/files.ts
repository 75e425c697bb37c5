import type { AppFile, StoredFile } from "../../../protocol/apps/app-files.ts";
import type { AppSpec, RequestedAppSpec } from "../../../protocol/apps/app-spec.ts";
import type { OwnerIds } from "../../../protocol/apps/volume-fields.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";

/**
 * Takes the files of a request: keeps their contents, and returns their descriptions, which are what records have.
 * @param current the app's files; a requested one without a content stays as it is there
 */
export type TakeFiles = (
  requested: readonly AppFile[],
  current: readonly StoredFile[],
) => readonly StoredFile[] | EdgeError;

/** For callers that have no requested files with contents. */
export const takeNoFiles: TakeFiles = (requested) => {
  if (requested.length > 0) throw new Error("the contents of the requested files have no place");
  return [];
};

/**
 * Returns the specification of a new app without the contents of its files, which `takeFiles` keeps, or its error.
 * Precondition: each file has a content.
 */
export function toStoredSpec({ files, ...spec }: RequestedAppSpec, takeFiles: TakeFiles): AppSpec | EdgeError {
  if (!files || files.length === 0) return spec;
  const taken = takeFiles(files, []);
  return taken instanceof EdgeError ? taken : { ...spec, files: [...taken] };
}

/** Under which the content of a file is stored. */
export function contentId({ sha256, secret_id }: StoredFile): string {
  return secret_id ?? sha256 ?? "";
}

/** What identifies a content. */
export type ContentKey = Pick<StoredFile, "size" | "sha256" | "secret_id">;

/** Describes a requested file, in the one form in which equal files are equal. */
export function describeFile({ target, mode, owner, secret, directory }: AppFile, key: ContentKey): StoredFile {
  return {
    target: normalizePath(target),
    ...key,
    mode: mode === undefined ? (secret ? "0400" : "0444") : mode.padStart(4, "0"),
    ...(owner !== undefined && { owner: formatOwner(parseFileOwner(owner)) }),
    ...(secret === true && { secret }),
    ...(directory === true && { directory }),
  };
}

/** Returns the files as reports have them: nothing tells what the content of a secret is. */
export function reportedFiles(files: readonly StoredFile[]): StoredFile[] {
  return files.map(({ secret_id: _secretId, ...file }) => file);
}

/** Parses the `owner` of a file, `UID` or `UID:GID`; the group is the user's number by default. */
export function parseFileOwner(text: string): OwnerIds {
  const [uid, gid = uid] = text.split(":").map(Number);
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

function formatOwner({ uid, gid }: OwnerIds): string {
  return `${uid}:${gid}`;
}

const MAX_SECRET_LINES = 64;
const MIN_SECRET_LINE = 8;
const MAX_SECRET_LINE = 4_096;

/**
 * Returns what to mask of a secret file in the app's own output: its lines, and what stands after `=` or `:` in them, as
 * in a configuration. Short ones would make the output unreadable.
 */
export function secretLines(content: string): string[] {
  const lines = content.split("\n").slice(0, MAX_SECRET_LINES);
  const texts = lines.flatMap((line) => {
    const [, value = ""] = /^[^=:]{1,100}[=:](.*)$/s.exec(line) ?? [];
    return [line, value].map((text) => text.trim().replace(/^(["'])(.*)\1$/s, "$2"));
  });
  const secrets = texts.filter((text) => text.length >= MIN_SECRET_LINE && text.length <= MAX_SECRET_LINE);
  return [...new Set(secrets)];
}
