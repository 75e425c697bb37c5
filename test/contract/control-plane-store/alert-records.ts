import type { AlertChange } from "../../../src/control-plane/core/alerts/alert.ts";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import type { StoredChannel } from "../../../src/control-plane/store/alerts.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { ACCOUNT, register, someAsset } from "./harness.ts";

/*
 * Alerts, channels and groups for the contracts of stores.
 */

export const NOW = 1_800_000_000_000;

export function opening(
  { uuid, name, type }: Asset,
  fields: Partial<Extract<AlertChange, { kind: "open" }>["alert"]> = {},
): AlertChange {
  const subject = { kind: "asset", id: uuid, name, type, tags: new Map() } as const;
  const alert = {
    condition: "device_offline",
    severity: "critical",
    subject,
    state: "firing",
    sinceMs: NOW,
    firedAtMs: NOW,
    ...fields,
  } as const;
  return { kind: "open", alert, usualPauseMs: undefined };
}

export const someChannel = (fields: Partial<StoredChannel> = {}): StoredChannel => ({
  accountId: ACCOUNT,
  name: "ops",
  kind: "webhook",
  shown: { url: "https://example.com" },
  changedAtMs: NOW,
  failingSinceMs: undefined,
  disabledAtMs: undefined,
  keyId: "key_a",
  sealed: Uint8Array.of(1, 0, 255),
  ...fields,
});

export function assignment(alertId: string) {
  const group = {
    id: "grp_1",
    routeId: "night",
    condition: "device_offline",
    severity: "critical",
    firstSinceMs: NOW,
    openedAtMs: NOW,
    sends: 0,
    sentTotal: 0,
    lastSentAtMs: undefined,
  } as const;
  return { alertId, routeId: "night", group };
}

/** Lets a group of one alert say something. Returns it as it was before. */
export async function say(store: Store, id: string, channels: readonly string[] = ["ops"]) {
  const { alerts, alertOutbox } = store;
  await alerts.change(ACCOUNT, [opening(await register(store, someAsset()))], ["alr_1"], NOW);
  await alertOutbox.assign(ACCOUNT, [assignment("alr_1")], NOW);
  const [due] = await alertOutbox.listDueGroups(NOW, 1);
  if (!due) throw new Error("no group is due");
  await alertOutbox.step(
    due,
    { message: "firing", nextAtMs: undefined, isClosed: false },
    { id, message: "{}", channels, total: 1 },
    NOW,
  );
  return due;
}

/** Connects the device of the asset, and lets it be gone since a time. @param lastSeen Unix seconds */
export async function goAway(store: Store, { uuid }: Asset, lastSeen: number): Promise<void> {
  const { sessions } = store;
  const opened = await sessions.open({
    assetUuid: uuid,
    instanceId: "ins_1",
    sessionId: `ses_${uuid}`,
    protocol: 1,
    at: lastSeen,
    agentVersion: "1.0.0",
  });
  if (!opened) throw new Error("the session was not opened");
  await sessions.close({ assetUuid: uuid, epoch: opened.epoch }, lastSeen, "lost");
}
