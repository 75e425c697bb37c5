/** What an unfinished deployment waits for; the first that applies. */
export const UNFINISHED_STATES = ["waiting_for_device", "cancelling", "undelivered", "uncertain", "running"] as const;

export type UnfinishedState = (typeof UNFINISHED_STATES)[number];

/** Sizes in bytes. */
export interface StoreSizes {
  readonly database: number;
  /** `undefined` for a database whose log is not the service's concern. */
  readonly wal: number | undefined;
}

/** Figures for those who run the service. */
export interface StoreStatistics {
  /** Counts the unfinished deployments by state. States without any are left out. */
  countUnfinished(): Promise<ReadonlyMap<UnfinishedState, number>>;
  /** Returns the sizes if they can be read cheaply. */
  sizes(): Promise<StoreSizes | undefined>;
}
