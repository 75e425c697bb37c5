import type { ReactNode } from "react";
import type { AppList } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { formatDuration } from "../../parts/durations.ts";
import { LinkState } from "../assets/link-state.tsx";

/** A report may be this old by rounding, in seconds. */
const MAX_CURRENT_AGE_S = 5;

interface Props {
  readonly presence: Pick<AppList, "reachable" | "last_seen" | "reported_at" | "age_s">;
}

/** Whether the device is connected, and how old what it reported may be. */
export function Freshness({ presence }: Props): ReactNode {
  const { reachable, last_seen: lastSeen, reported_at: reportedAt, age_s: ageS } = presence;
  return (
    <span>
      <LinkState connected={reachable} lastSeen={lastSeen} />
      {reachable && (ageS ?? 0) > MAX_CURRENT_AGE_S && (
        <span>
          {" "}
          · may be out of date by {formatDuration(ageS ?? 0)}: the device has not reported its latest changes yet
        </span>
      )}
      {!reachable && reportedAt !== null && (
        <span>
          {" · shown as it was "}
          <Age at={reportedAt} />
        </span>
      )}
    </span>
  );
}
