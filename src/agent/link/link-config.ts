import type { BackoffOptions } from "../../lib/backoff.ts";

/** What the link needs to know. */
export interface LinkConfig {
  /** Address of the control plane, `wss:` or `ws:`. */
  readonly url: string;
  readonly token: string;
  /** Certificates to trust beside the built-in and the system's, as PEM text. */
  readonly extraCa?: string | undefined;
  /** Silence after which the link is probed, in milliseconds. */
  readonly keepaliveMs: number;
  /** How long a probe may stay unanswered, in milliseconds. */
  readonly pongTimeoutMs: number;
  /** Delays between attempts that failed for no special reason. */
  readonly backoff: BackoffOptions;
}
