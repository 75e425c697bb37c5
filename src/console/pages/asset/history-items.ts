import type { AccountEvent } from "../../../protocol/assets/account-event.ts";
import type { AuditEntryBody } from "../../../protocol/people/audit.ts";
import type { Deployment } from "../../../protocol/api-types.ts";

/** Something that happened, from one source. */
interface HistoryItem {
  /** Tells it apart within all sources. */
  readonly key: string;
  /** Unix seconds. */
  readonly at: number;
}

/** What has been loaded of one source, newest first. */
interface TimeLineSource<T extends HistoryItem> {
  readonly items: readonly T[];
  /** Whether the source has older items that are not loaded yet. */
  readonly hasMore: boolean;
}

interface TimeLine<T extends HistoryItem> {
  /** Newest first; each key once. */
  readonly items: readonly T[];
  readonly hasMore: boolean;
  /** Loaded items that are not shown yet, since another source may have something between them. */
  readonly heldBack: number;
  /** Numbers of the sources that have to be loaded on before older items can be shown. */
  readonly loadNext: readonly number[];
}

/**
 * Merges sources that are loaded page by page into one time line without holes: older than the oldest loaded item of a
 * source that goes on, nothing is shown until more of that source is loaded.
 */
export function mergeTimeLine<T extends HistoryItem>(sources: readonly TimeLineSource<T>[]): TimeLine<T> {
  const horizons = sources.map(({ items, hasMore }) => (hasMore ? (items.at(-1)?.at ?? Infinity) : -Infinity));
  const horizon = Math.max(-Infinity, ...horizons);
  const all = new Map<string, T>();
  for (const { items } of sources) for (const item of items) if (!all.has(item.key)) all.set(item.key, item);
  const sorted = [...all.values()].toSorted((a, b) => b.at - a.at || (a.key < b.key ? 1 : -1));
  const items = sorted.filter(({ at }) => at >= horizon);
  return {
    items,
    hasMore: sources.some(({ hasMore }) => hasMore),
    heldBack: sorted.length - items.length,
    loadNext: horizons.flatMap((at, index) => (at === horizon && at > -Infinity ? [index] : [])),
  };
}

/** Something that happened to an asset, in words. */
export interface AssetHistoryItem extends HistoryItem {
  readonly title: string;
  readonly text: string;
  /** Who did it, if it was a person or a key. */
  readonly actor?: string;
  readonly deploymentId?: string;
  readonly kind: "good" | "warn" | "bad" | "none";
}

const ENDS = {
  Running: { kind: "warn", text: "under way" },
  Success: { kind: "good", text: "" },
  Fail: { kind: "bad", text: "failed" },
} as const;

/** Who requested which deployment, by its id, as far as these entries of the audit log say. */
export function requesters(entries: readonly AuditEntryBody[]): ReadonlyMap<string, string> {
  return new Map(entries.filter(isRequest).map((entry) => [entry.subject?.id ?? "", actorOf(entry)]));
}

/** Whether the entry is told by a deployment itself. */
export function isRequest({ action, subject, outcome }: AuditEntryBody): boolean {
  return action === "deployment.requested" && subject?.kind === "deployment" && outcome === "ok";
}

function actorOf({ actor }: AuditEntryBody): string {
  return actor.name ?? (actor.kind === "user" || actor.kind === "key" ? actor.id : actor.kind.replace("_", " "));
}

/** A deployment at the time it was requested. */
export function ofDeployment(deployment: Deployment, actor?: string): AssetHistoryItem {
  const { deployment_id: id, action, app, status, code, message, created_at: at, dry_run: dry } = deployment;
  const { kind, text } = ENDS[status];
  const what = `${dry ? "check of " : ""}${action} ${app}`;
  return {
    key: `deployment ${id}`,
    at,
    title: `${what}${text === "" ? "" : ` ${text}`}${code === undefined ? "" : `: ${code}`}`,
    text: message,
    ...(actor !== undefined && { actor }),
    deploymentId: id,
    kind,
  };
}

/** An entry of the audit log. */
export function ofAuditEntry(entry: AuditEntryBody): AssetHistoryItem {
  const { id, timestamp, action, app, outcome, subject } = entry;
  const on = [app, subject?.name].filter(Boolean).join(" ");
  return {
    key: `audit ${id}`,
    at: timestamp,
    title: `${action.replaceAll(/[._]/g, " ")}${on === "" ? "" : ` ${on}`}`,
    text: outcome === "ok" ? "" : `refused: ${outcome}`,
    actor: actorOf(entry),
    kind: outcome === "ok" ? "none" : "bad",
  };
}

/** What was seen live while the page was open; `undefined` for what the other sources tell. */
export function ofEvent(event: AccountEvent, assetId: string): AssetHistoryItem | undefined {
  if (!("asset_id" in event) || event.asset_id !== assetId) return undefined;
  const base = { key: `event ${event.id}`, at: event.timestamp, text: "" };
  if (event.type === "device.connected")
    return { ...base, title: `device connected, agent ${event.agent_version}`, kind: "good" };
  if (event.type === "device.disconnected") return { ...base, title: "device disconnected", kind: "warn" };
  return undefined;
}
