import { ACCOUNTS } from "./schema/accounts.ts";
import { AGENT_RELEASES } from "./schema/agent-releases.ts";
import { ALERTS } from "./schema/alerts.ts";
import { ASSETS } from "./schema/assets.ts";
import { DEPLOYMENTS } from "./schema/deployments.ts";
import { FLEETS } from "./schema/fleets.ts";
import { HISTORY } from "./schema/history.ts";
import { INSTANCES } from "./schema/instances.ts";
import { PEOPLE } from "./schema/people.ts";
import { SIMS } from "./schema/sims.ts";
import { UPLOADS } from "./schema/uploads.ts";

/** A step of the schema. */
export interface SchemaStep {
  /** The version of the schema after the step. The same as that of the SQLite store with the same tables. */
  readonly version: number;
  /** The lowest version whose programs can work with the schema after the step. */
  readonly compatibleFrom: number;
  readonly sql: string;
}

/**
 * Times are Unix seconds unless named `_ms`. Identifiers compare and sort by bytes, as in the SQLite store. What a device
 * or client sent is `text`, not `jsonb`: it is hashed and streamed as it was stored. Until the first release, changes go into
 * the tables of `schema/`; from then on a released step is never edited.
 */
export const SCHEMA_STEPS: readonly SchemaStep[] = [
  {
    version: 1,
    compatibleFrom: 1,
    sql:
      INSTANCES +
      ACCOUNTS +
      PEOPLE +
      ASSETS +
      HISTORY +
      SIMS +
      DEPLOYMENTS +
      FLEETS +
      AGENT_RELEASES +
      ALERTS +
      UPLOADS,
  },
];
