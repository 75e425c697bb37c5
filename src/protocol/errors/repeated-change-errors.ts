/** Errors of changes that are conditional, or repeated. */
export const REPEATED_CHANGE_ERRORS = {
  PreconditionFailed: {
    message: "This was changed meanwhile: it is not what If-Match says.",
    http: 412,
    retryable: false,
    hint: "details.current is what it is now, and the ETag header its entity tag. Decide again, and send that in If-Match.",
  },
  IdempotencyKeyReused: {
    message: "This Idempotency-Key was used with another request.",
    http: 422,
    retryable: false,
    hint: "Use a new key for a new request. A key is for one method, path, query and body, sent by one API key or person.",
  },
  IdempotencyInProgress: {
    message: "The first request with this Idempotency-Key has not ended.",
    http: 409,
    retryable: true,
    hint: "Wait as long as the Retry-After header says, and repeat the request with the same key.",
  },
  IdempotencyResponseLost: {
    message:
      "The first request with this Idempotency-Key was carried out, but the service stopped before it had responded.",
    http: 409,
    retryable: false,
    hint: "Read what it has changed. A secret that it made cannot be shown again: replace it, with a new key.",
  },
} as const;
