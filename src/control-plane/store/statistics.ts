/** What an unfinished deployment waits for; the first that applies. */
export const UNFINISHED_STATES = ["waiting_for_device", "cancelling", "undelivered", "uncertain", "running"] as const;

export type UnfinishedState = (typeof UNFINISHED_STATES)[number];

/** Sizes in bytes. */
export interface StoreSizes {
  readonly database: number;
  /** `undefined` for a database whose log is not the service's concern. */
  readonly wal: number | undefined;
}

/** Its parameter is the number of versions. */
export const COUNT_AGENT_VERSIONS_SQL = /* sql */ `
  SELECT agent_version AS version, count(*) AS count FROM asset_states WHERE agent_version IS NOT NULL
  GROUP BY agent_version ORDER BY count(*) DESC, agent_version LIMIT `;

/** Figures for those who run the service. */
export interface StoreStatistics {
  /** Counts the unfinished deployments by state. States without any are left out. */
  countUnfinished(): Promise<ReadonlyMap<UnfinishedState, number>>;
  /** Counts the devices that have connected by the version of their agent: of the most frequent versions, at most `limit`. */
  countAgentVersions(limit: number): Promise<ReadonlyMap<string, number>>;
  /** Returns the sizes if they can be read cheaply. */
  sizes(): Promise<StoreSizes | undefined>;
}
