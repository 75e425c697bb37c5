import type { AccountEvent } from "../../../protocol/account-event.ts";
import type { AuditEntryBody } from "../../../protocol/audit.ts";
import type { Deployment } from "../../api/types.ts";
import type { Happening } from "./time-line.ts";

/** Something that happened to an asset, in words. */
export interface AssetHappening extends Happening {
  readonly title: string;
  readonly text: string;
  /** Who did it, if it was somebody. */
  readonly actor?: string;
  readonly deploymentId?: string;
  readonly kind: "good" | "warn" | "bad" | "none";
}

const ENDS = {
  Running: { kind: "warn", text: "under way" },
  Success: { kind: "good", text: "" },
  Fail: { kind: "bad", text: "failed" },
} as const;

/** A deployment at the time it was requested. */
export function ofDeployment({
  deployment_id: id,
  action,
  app,
  status,
  code,
  message,
  created_at: at,
  dry_run: dry,
}: Deployment): AssetHappening {
  const { kind, text } = ENDS[status];
  const what = `${dry ? "check of " : ""}${action} ${app}`;
  return {
    key: `deployment ${id}`,
    at,
    title: `${what}${text === "" ? "" : ` ${text}`}${code === undefined ? "" : `: ${code}`}`,
    text: message,
    deploymentId: id,
    kind,
  };
}

/** An entry of the audit log. That of a deployment is told by the deployment. */
export function ofAuditEntry(entry: AuditEntryBody): AssetHappening {
  const { id, at, actor, action, app, outcome, subject } = entry;
  const on = [app, subject?.name].filter(Boolean).join(" ");
  return {
    key: `audit ${id}`,
    at,
    title: `${action.replaceAll(/[._]/g, " ")}${on === "" ? "" : ` ${on}`}`,
    text: outcome === "ok" ? "" : `refused: ${outcome}`,
    actor: actor.name ?? (actor.kind === "user" || actor.kind === "key" ? actor.id : actor.kind.replace("_", " ")),
    kind: outcome === "ok" ? "none" : "bad",
  };
}

/** What was seen live while the page was open; `undefined` for what the other sources tell. */
export function ofEvent(event: AccountEvent, assetId: string): AssetHappening | undefined {
  if (!("asset_id" in event) || event.asset_id !== assetId) return undefined;
  const base = { key: `event ${event.id}`, at: Math.floor(event.at_ms / 1000), text: "" };
  if (event.type === "device.connected")
    return { ...base, title: `device connected, agent ${event.agent_version}`, kind: "good" };
  if (event.type === "device.disconnected") return { ...base, title: "device disconnected", kind: "warn" };
  return undefined;
}
