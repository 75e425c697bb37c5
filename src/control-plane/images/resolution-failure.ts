/** Why the digest of a tag could not be found out. In `details.reason` of `ImageNotResolved`. */
export type FailureReason =
  | "denied"
  | "foreign_token_server"
  | "invalid_response"
  | "no_tls"
  | "not_found"
  | "private_address"
  | "rate_limited"
  | "timeout"
  | "too_many_redirects"
  | "unreachable";

/** A registry did not say the digest. The message contains neither credentials nor text of a server. */
export class ResolutionFailure extends Error {
  override readonly name = "ResolutionFailure";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
