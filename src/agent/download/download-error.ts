import type { DownloadErrorKind } from "../core/error-kind.ts";

/** A failed download. The message is for people and contains no address and no credentials. */
export class DownloadError extends Error {
  readonly kind: DownloadErrorKind;

  constructor(kind: DownloadErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DownloadError";
    this.kind = kind;
  }
}

/** A layer cannot be put together from parts. It is downloaded whole. The message says why, for people. */
export class PartsUnusable extends Error {
  override readonly name = "PartsUnusable";
}

const DISK_FULL_CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Converts an error of the file system to a `DownloadError`. */
export function toDiskError(error: unknown, directory: string): DownloadError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (DISK_FULL_CODES.has(code)) {
    return new DownloadError("no_space", `the disk that holds ${directory} is full`, { cause: error });
  }
  const reason = typeof code === "string" ? code : String(error);
  return new DownloadError("disk_failed", `${directory} cannot be used: ${reason}`, { cause: error });
}
