import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import { toGroupEvents } from "../core/apply/group-events.ts";
import type { DeploymentRecord } from "../core/records.ts";
import { deploymentEntry, type HistoryEntry, timedEvent } from "../store/history.ts";
import type { StoreChange } from "../store/store.ts";
import type { Activity } from "./api.ts";

/** Converts an entry of the history to activities: one for each event of a deployment, or one repair. */
export function toActivities(entry: HistoryEntry): Activity[] {
  if (entry.kind !== "deployment") return [entry];
  const { id, app, origin } = entry;
  return entry.events.map((event) => ({ kind: "event", app, deployment_id: id, origin, ...event }));
}

/** Converts a change of the store to activities. @param nowMs time of day */
export function changeActivities(change: StoreChange, nowMs: number): Activity[] {
  const { deployment, events = [], historyEntry } = change;
  return [
    ...(deployment ? toActivities(asEntry(deployment, events, Math.floor(nowMs / 1000))) : []),
    ...(historyEntry ? toActivities(historyEntry) : []),
  ];
}

function asEntry(record: DeploymentRecord, events: readonly EventContent[], at: number): HistoryEntry {
  return deploymentEntry(
    record,
    (record.group ? toGroupEvents(record, events) : events).map((event) => timedEvent(event, at)),
  );
}
