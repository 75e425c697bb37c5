import type { StreamedEvent } from "../api/deployment-event.ts";
import type { FollowListener } from "../deploy/follow.ts";

/** Shows a running deployment. Failures are not shown here but printed as those of any command. */
export interface DeploymentView extends FollowListener, Disposable {
  /** Shows a successful end. */
  success(event: StreamedEvent): void;
}
