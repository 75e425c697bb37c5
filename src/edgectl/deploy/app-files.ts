import { createHash } from "node:crypto";
import { InvalidArgumentError } from "commander";
import type { AppFile, StoredFile } from "../../protocol/apps/app-files.ts";
import { MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { usageFailure } from "../failure.ts";
import { readBytes } from "../io.ts";
import { contentFields, contentOf } from "../documents/file-content.ts";

/** A file of this machine that comes with an app, as an option names it. */
export interface FileOption {
  readonly local: string;
  readonly target: string;
  readonly mode?: string;
}

/** Parses `LOCAL:TARGET[:MODE]`, such as `./mosquitto.conf:/mosquitto/config/mosquitto.conf:0440`. */
export function parseFileOption(text: string): FileOption {
  const match = /^(.+):(\/[^:]+)(?::(0?[0-7]{3}))?$/s.exec(text);
  const [, local, target, mode] = match ?? [];
  if (local === undefined || target === undefined) {
    throw new InvalidArgumentError("Write LOCAL:TARGET or LOCAL:TARGET:MODE, such as ./app.conf:/etc/app.conf:0440.");
  }
  return { local, target, ...(mode !== undefined && { mode }) };
}

/** Reads the files that options name. Errors: exit code 2 for one that cannot be read, or is too large. */
export async function readAppFiles(plain: readonly FileOption[], secret: readonly FileOption[]): Promise<AppFile[]> {
  const files: AppFile[] = [];
  let total = 0;
  for (const [options, isSecret] of [
    [plain, false],
    [secret, true],
  ] as const) {
    for (const { local, ...rest } of options) {
      const content = await readBytes(local);
      total += content.length;
      if (total > MAX_APP_FILES_BYTES) {
        throw usageFailure(
          `The files have more than ${MAX_APP_FILES_BYTES / 1024 ** 2} MiB in all.`,
          "Put larger ones onto the device, and mount them with --volume.",
        );
      }
      files.push({ ...rest, ...contentFields(content), ...(isSecret && { secret: true }) });
    }
  }
  return files;
}

/** Returns files that a device reports as an update keeps them: with the contents that they have there. */
export function keptFiles(files: unknown): unknown {
  if (!Array.isArray(files)) return files;
  return files.map((file: Partial<StoredFile>) => ({ target: file.target }));
}

/** Describes requested files as a device reports them, to compare them. */
export function describeFiles(files: readonly AppFile[]): Partial<StoredFile>[] {
  return files.map((file) => {
    const { target, mode, owner, secret, directory, upload } = file;
    const bytes = contentOf(file);
    const hash = upload ? file.sha256 : createHash("sha256").update(bytes).digest("hex");
    const [uid, gid = uid] = owner?.split(":").map(Number) ?? [];
    return {
      target: normalizePath(target),
      size: upload?.size ?? bytes.length,
      ...(secret !== true && hash !== undefined && { sha256: hash }),
      mode: mode?.padStart(4, "0") ?? (secret === true ? "0400" : "0444"),
      ...(owner !== undefined && { owner: `${uid}:${gid}` }),
      ...(secret === true && { secret }),
      ...(directory === true && { directory }),
    };
  });
}
