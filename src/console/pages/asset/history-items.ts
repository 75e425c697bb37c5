import type { AccountEvent } from "../../../protocol/account-event.ts";
import type { AuditEntryBody } from "../../../protocol/audit.ts";
import type { Deployment } from "../../api/types.ts";
import type { HistoryItem } from "./time-line.ts";

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
  const { id, at, action, app, outcome, subject } = entry;
  const on = [app, subject?.name].filter(Boolean).join(" ");
  return {
    key: `audit ${id}`,
    at,
    title: `${action.replaceAll(/[._]/g, " ")}${on === "" ? "" : ` ${on}`}`,
    text: outcome === "ok" ? "" : `refused: ${outcome}`,
    actor: actorOf(entry),
    kind: outcome === "ok" ? "none" : "bad",
  };
}

/** What was seen live while the page was open; `undefined` for what the other sources tell. */
export function ofEvent(event: AccountEvent, assetId: string): AssetHistoryItem | undefined {
  if (!("asset_id" in event) || event.asset_id !== assetId) return undefined;
  const base = { key: `event ${event.id}`, at: Math.floor(event.at_ms / 1000), text: "" };
  if (event.type === "device.connected")
    return { ...base, title: `device connected, agent ${event.agent_version}`, kind: "good" };
  if (event.type === "device.disconnected") return { ...base, title: "device disconnected", kind: "warn" };
  return undefined;
}
