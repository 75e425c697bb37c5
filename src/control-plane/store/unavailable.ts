/**
 * The store cannot be reached at the moment, such as while its database restarts. Whether a change was made is not known:
 * the call may be repeated, and what is repeated must expect its earlier result.
 */
export class StoreUnavailableError extends Error {
  /** @param reason for the service's log, without secrets; clients do not see it */
  constructor(reason: string, options?: ErrorOptions) {
    super(`the database cannot be reached: ${reason}`, options);
    this.name = "StoreUnavailableError";
  }
}
