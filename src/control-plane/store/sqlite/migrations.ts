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

/**
 * Schema of edge-control's database: entry `n` migrates it from version `n` to `n + 1`. Times are Unix seconds unless named
 * `_ms`. Until the first release, changes go into the tables of `schema/`; from then on a released entry is never edited.
 */
export const MIGRATIONS: readonly string[] = [
  INSTANCES + ACCOUNTS + PEOPLE + ASSETS + HISTORY + SIMS + DEPLOYMENTS + FLEETS + AGENT_RELEASES + ALERTS + UPLOADS,
];
