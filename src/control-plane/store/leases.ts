/** A right that one holder has at a time, until a time. Times are milliseconds of the service's clock. */
export interface LeaseStore {
  /**
   * Acquires or renews the lease. Returns its epoch, which increases with each change of the holder; `undefined` if
   * another holder has it, and it has not lapsed.
   */
  acquire(name: string, holder: string, nowMs: number, untilMs: number): Promise<number | undefined>;
  /** Does nothing if another holder has the lease. */
  release(name: string, holder: string): Promise<void>;
}
