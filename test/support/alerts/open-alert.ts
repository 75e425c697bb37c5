import { createId } from "../../../src/control-plane/accounts/secrets.ts";
import type { AlertChange } from "../../../src/control-plane/core/alerts/alert.ts";
import { someAudit } from "../control-plane/people.ts";
import { waitFor } from "../wait-for.ts";
import type { ControlPlane, TestAccount } from "../control-plane.ts";

/**
 * Lets an alert of the account fire, and returns its id. What its condition is about does not hold, so it goes on for as long as
 * `disk_low` does once it is over, 15 minutes, or until the service judges alerts again, which it has done once before.
 */
export async function openAlert(
  control: ControlPlane,
  { accountId }: TestAccount,
  fields: Partial<Extract<AlertChange, { kind: "open" }>["alert"]> = {},
): Promise<string> {
  await waitFor("the first round", async () => (await control.store.alerts.readRound()).lastAtMs > 0);
  const id = createId("alr_");
  const nowMs = Math.floor(Date.now());
  const alert = {
    condition: "disk_low",
    severity: "warning",
    subject: { kind: "asset", id: `${id}-asset`, name: "GW-1" },
    state: "firing",
    sinceMs: nowMs,
    firedAtMs: nowMs,
    ...fields,
  } as const;
  await control.store.alerts.change(accountId, [{ kind: "open", alert, usualPauseMs: undefined }], [id], nowMs);
  return id;
}

/** Puts an alert that fires into a group of its own. Returns the id of the group. */
export async function groupAlert(control: ControlPlane, { accountId }: TestAccount, alertId: string): Promise<string> {
  const id = createId("grp_");
  const nowMs = Math.floor(Date.now());
  const group = {
    id,
    routeId: "all",
    condition: "device_offline",
    severity: "critical",
    firstSinceMs: nowMs,
    openedAtMs: nowMs,
    sends: 0,
    sentTotal: 0,
    lastSentAtMs: undefined,
  } as const;
  await control.store.alertOutbox.assign(accountId, [{ alertId, routeId: "all", group }], nowMs);
  return id;
}

/** Silences everything for an hour. Returns the id of the silence. */
export async function silence(control: ControlPlane, { accountId }: TestAccount): Promise<string> {
  const id = createId("sil_");
  const nowMs = Math.floor(Date.now());
  const about = { conditions: undefined, selector: "*", asset: undefined, reason: "Works", createdBy: "Ada" };
  const created = { id, accountId, ...about, createdAtMs: nowMs, endsAtMs: nowMs + 3_600_000 };
  await control.store.alertSettings.createSilence(created, { ...someAudit("silence.created"), accountId });
  return id;
}
