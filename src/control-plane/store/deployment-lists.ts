import type { DeploymentStatus } from "../../protocol/deployments/deployment-event.ts";
import type { SelectorTerm } from "../../protocol/fleets/selector.ts";
import type { DeploymentListCursor, DeploymentOrder } from "../core/cursor.ts";
import type { Deployment } from "../core/deployment.ts";

/** Number of deployments of the index that one page looks at. Where fewer match than a page holds, the page is shorter. */
export const MAX_SCANNED = 2_000;

/** Which deployments of an account are listed; `undefined` for any. */
export interface DeploymentFilter {
  readonly status?: DeploymentStatus | undefined;
  readonly app?: string | undefined;
  /** Of assets that match all of these terms. */
  readonly selector?: readonly SelectorTerm[] | undefined;
  /** Not before this time of the order, in Unix milliseconds. */
  readonly sinceMs?: number | undefined;
}

export interface AccountDeploymentPage {
  readonly deployments: readonly Deployment[];
  /** Position of the next page; `undefined` on the last page. A page with few deployments, or none, may have one. */
  readonly next: DeploymentListCursor | undefined;
}

export interface DeploymentListStore {
  /**
   * Returns at most `limit` deployments of an account, fewer if `MAX_PAGE_BYTES` or `MAX_SCANNED` is reached: by `created`
   * newest first, by `changed` the oldest change first.
   */
  listOfAccount(
    accountId: string,
    order: DeploymentOrder,
    filter: DeploymentFilter,
    limit: number,
    after?: DeploymentListCursor,
  ): Promise<AccountDeploymentPage>;
}
