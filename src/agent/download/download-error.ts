import type { DownloadErrorKind } from "../core/error-kind.ts";

/** A download that cannot go on. The message is for a person, and names no address and no credentials. */
export class DownloadError extends Error {
  readonly kind: DownloadErrorKind;

  constructor(kind: DownloadErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DownloadError";
    this.kind = kind;
  }
}

const FULL: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** The error a failed call of the file system amounts to. */
export function toDiskError(error: unknown, directory: string): DownloadError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (FULL.has(code)) {
    return new DownloadError("no_space", `the disk that holds ${directory} is full`, { cause: error });
  }
  const reason = typeof code === "string" ? code : String(error);
  return new DownloadError("disk_failed", `${directory} cannot be used: ${reason}`, { cause: error });
}
