/** Why a blob cannot be downloaded, as far as it changes what comes of the deployment. */
export type DownloadErrorKind =
  /** The disk that downloads are kept on is full. */
  | "no_space"
  /** What came was not what the digest says, each time it was fetched. */
  | "wrong_content"
  /** No byte came for as long as the device is patient. */
  | "no_progress"
  /** What downloads are kept in cannot be read or written. */
  | "disk_failed";

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
