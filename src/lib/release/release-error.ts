/** Why a release is not taken. Part of the interface: an answer of the updater has it as `code`. */
export type ReleaseErrorCode =
  /** A part of it cannot be read. */
  | "incomplete"
  /** A part of it, or the request, is not of the expected form, or exceeds a bound. */
  | "malformed"
  | "unsigned"
  /** The device has no key to check signatures with. */
  | "no_keys"
  | "untrusted_key"
  /** The content is not what was signed. */
  | "digest_mismatch"
  | "wrong_architecture"
  /** Its archive has something other than plain files below its folder. */
  | "unsafe_content"
  | "insufficient_disk"
  /** The file system for releases does not execute programs. */
  | "not_executable"
  | "installed"
  | "on_trial"
  | "set_aside"
  | "pinned"
  | "not_newer"
  | "downgrade_not_allowed"
  | "below_floor"
  /** The installed version is older than those that the release can follow. */
  | "too_far"
  | "not_on_trial"
  /** An error of this device, such as a disk that cannot be written. */
  | "failed";

/** A release, or a request about one, is refused. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
  readonly code: ReleaseErrorCode;

  constructor(code: ReleaseErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
