import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { ControlPlane, TestAccount, TestAsset } from "../control-plane.ts";
import { someAudit } from "../control-plane/people.ts";

export interface HeldRollout {
  readonly fleet: string;
  readonly rolloutId: string;
}

/** A body of a request that makes a revision with the app `kiosk-ui`. */
export const SOME_REVISION = {
  apps: [{ app: { name: "kiosk-ui", image: `registry.example.com/ui@sha256:${"a".repeat(64)}` } }],
};

/**
 * Starts a rollout to a fleet of this asset alone. It goes on until somebody ends it: the asset is held. All other fleets of the
 * account are removed: it may have 200.
 */
export async function startHeldRollout(
  control: ControlPlane,
  { accountId, apiKey }: TestAccount,
  { uuid }: TestAsset,
): Promise<HeldRollout> {
  const { fleets, assetSettings } = control.store;
  for (const { id } of await fleets.listFleets(accountId, 200))
    await fleets.removeFleet(id, someAudit("fleet.removed", accountId));
  const fleet = `fleet-${randomUUID()}`;
  const tagged = { ...someAudit("asset.tagged", accountId), assetUuid: uuid };
  await assetSettings.changeTags(uuid, new Map([["fleet", fleet]]), false, tagged);
  const hold = {
    reason: "Pump test",
    untilMs: undefined,
    setAtMs: 1_000,
    setBy: { kind: "command_line", id: "root", name: "root" } as const,
  };
  await assetSettings.changeHold(uuid, hold, { ...tagged, action: "asset.held" });

  const create = async (path: string, body: unknown): Promise<{ readonly id: string }> => {
    const headers = { "X-API-Key": apiKey, "Content-Type": "application/json" };
    const response = await fetch(control.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(response.status).toBe(201);
    return (await response.json()) as { readonly id: string };
  };
  await create("/v1/fleets", { name: fleet, selector: `fleet=${fleet}`, apps: ["kiosk-ui", "old-player"] });
  await create(`/v1/fleets/${fleet}/revisions`, SOME_REVISION);
  return { fleet, rolloutId: (await create(`/v1/fleets/${fleet}/rollouts`, {})).id };
}
