/** How long the outcome of a request is kept for its repetition. */
export const IDEMPOTENCY_KEPT_MS = 24 * 3_600_000;
/** Most requests of an account that are kept; beyond that the oldest are forgotten. */
export const MAX_IDEMPOTENT_REQUESTS = 2_000;
/** Most bytes of the responses of an account that are kept; beyond that the oldest are forgotten. */
export const MAX_IDEMPOTENT_RESPONSE_BYTES = 8 * 1024 * 1024;
/** After this time without an end, the process that carried out a request is gone. No request takes as long. */
export const MAX_IDEMPOTENT_REQUEST_MS = 120_000;

/** Identifies the request of an `Idempotency-Key`, in an account. */
export interface IdempotencyId {
  readonly accountId: string;
  readonly keyHash: Uint8Array;
}

/** A request with an `Idempotency-Key`. */
export interface IdempotentRequest extends IdempotencyId {
  /** Of the key or the person that sends it. */
  readonly principalId: string;
  /** Method and path, for people. */
  readonly operation: string;
  /** Differs for another request. Without the request's credential it says nothing about what is in the request. */
  readonly fingerprint: Uint8Array;
}

export interface IdempotencyLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
}

/** What is to be done with a request. */
export type IdempotencyClaim =
  /** It is the first one, or nothing came of an earlier one: the caller carries it out, and then ends it. */
  | { readonly kind: "claimed" }
  /** The same request is being carried out. */
  | { readonly kind: "in_progress"; readonly untilMs: number }
  /** It was carried out. There is no response if the process ended before it had one. */
  | { readonly kind: "done"; readonly response: Uint8Array | undefined }
  /** The key is that of another request. */
  | { readonly kind: "other"; readonly principalId: string; readonly operation: string };

/**
 * Requests with an `Idempotency-Key`. That one was carried out is on record with its change, in one transaction: the entry of
 * the audit log names the request. Times are milliseconds of the service's clock.
 */
export interface IdempotencyStore {
  claim(request: IdempotentRequest, nowMs: number): Promise<IdempotencyClaim>;
  /** Keeps the response of a request that was carried out, and forgets the oldest of the account that are too many. */
  complete(id: IdempotencyId, response: Uint8Array, limits?: IdempotencyLimits): Promise<void>;
  /**
   * Forgets a request that was refused, so that it may be repeated.
   *
   * @param isInDoubt its change may have been made all the same: then it is forgotten only if that is not on record
   */
  release(id: IdempotencyId, isInDoubt: boolean): Promise<void>;
  /**
   * Ends what processes that are gone have left: nothing came of it, or its response is lost. To be called while no process carries
   * out requests.
   */
  endAbandoned(): Promise<void>;
  /** Removes what was begun before this time. */
  removeOld(beforeMs: number): Promise<void>;
}
