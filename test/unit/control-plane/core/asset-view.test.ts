import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Asset, deriveStatus } from "../../../../src/control-plane/core/asset.ts";
import { toAssetDetails, toAssetListItem } from "../../../../src/control-plane/core/asset-view.ts";
import { NEW_ASSET_STATE } from "../../../../src/control-plane/core/attention.ts";
import { assetListItemSchema, assetSchema } from "../../../../src/protocol/assets/asset.ts";
import { arbitraryAsset } from "../../../support/control-plane/arbitrary-asset.ts";

const SUPER = { sid: "HS01", iccid: "8988307000000000001", networkGroup: "default_1gb" };
const PRO = { imsi: "262011234567890", iccid: "8988307000000000002", serviceProfile: "gold" };

const TIME = { now: 1_790_000_100, notSeenBefore: 1_789_000_000 };

const asset = (sims: Partial<Pick<Asset, "supersim" | "prosim">>): Asset => ({
  uuid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
  accountId: "acc_1",
  serialNumber: "GW-1",
  name: "Pump house",
  type: "gateway",
  createdAt: 1_790_000_000,
  supersim: undefined,
  prosim: undefined,
  ...sims,
});

describe("status", () => {
  test.each([
    [undefined, undefined, "inactive"],
    ["active", undefined, "active"],
    ["inactive", undefined, "inactive"],
    [undefined, "active", "active"],
    [undefined, "inactive", "inactive"],
    ["active", "active", "active"],
    ["active", "inactive", "active"],
    ["inactive", "active", "active"],
    ["inactive", "inactive", "inactive"],
  ] as const)("Super SIM %s, PRO SIM %s: %s", (supersim, prosim, expected) => {
    const derived = deriveStatus({
      supersim: supersim && { ...SUPER, status: supersim },
      prosim: prosim && { ...PRO, status: prosim },
    });
    expect(derived).toBe(expected);
  });
});

describe("representation", () => {
  test("has every specified field, and a SIM only if the asset holds one", () => {
    expect(toAssetDetails(asset({}), NEW_ASSET_STATE, TIME, false)).toEqual({
      uuid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
      serial_number: "GW-1",
      name: "Pump house",
      type: "gateway",
      updated_at: 0,
      created_at: 1_790_000_000,
      status: "inactive",
      connected: false,
      last_seen: null,
      agent_version: null,
      accepted_at: null,
      tags: {},
      attention: [],
    });
  });

  test("a connected device is seen now; one that is away was seen at the end of its session", () => {
    const state = { ...NEW_ASSET_STATE, lastSeenAt: 1_780_000_000, agentVersion: "0.1.0" };
    expect(toAssetListItem(asset({}), { ...state, isConnected: true }, TIME, false)).toMatchObject({
      connected: true,
      last_seen: TIME.now,
      agent_version: "0.1.0",
      attention: [],
    });
    expect(toAssetListItem(asset({}), state, TIME, false)).toMatchObject({
      connected: false,
      last_seen: 1_780_000_000,
      attention: ["not_seen"],
    });
  });

  test("shows both SIMs at once", () => {
    const both = asset({ supersim: { ...SUPER, status: "inactive" }, prosim: { ...PRO, status: "active" } });
    expect(toAssetDetails(both, NEW_ASSET_STATE, TIME, false)).toMatchObject({
      status: "active",
      supersim: { sid: "HS01", iccid: "8988307000000000001", network_group: "default_1gb" },
      prosim: { imsi: "262011234567890", iccid: "8988307000000000002", service_profile: "gold" },
    });
  });

  test("mirrors the Super SIM, with its own status, only before the removal", () => {
    const both = asset({ supersim: { ...SUPER, status: "inactive" }, prosim: { ...PRO, status: "active" } });
    const sim = { sid: "HS01", iccid: "8988307000000000001", network_group: "default_1gb", status: "inactive" };
    expect(toAssetDetails(both, NEW_ASSET_STATE, TIME, true)).toMatchObject({ sim, network_group: "default_1gb" });
    expect(toAssetListItem(both, NEW_ASSET_STATE, TIME, true)).toMatchObject({ sim });
    expect(toAssetListItem(both, NEW_ASSET_STATE, TIME, true)).not.toHaveProperty("network_group");
    expect(toAssetDetails(both, NEW_ASSET_STATE, TIME, false)).not.toHaveProperty("sim");
    expect(toAssetDetails(both, NEW_ASSET_STATE, TIME, false)).not.toHaveProperty("network_group");
  });

  test("an asset without a Super SIM has no mirror", () => {
    const prosimOnly = toAssetDetails(asset({ prosim: { ...PRO, status: "active" } }), NEW_ASSET_STATE, TIME, true);
    expect(prosimOnly).not.toHaveProperty("sim");
    expect(prosimOnly).not.toHaveProperty("network_group");
  });

  test("always fits the published schema", () => {
    fc.assert(
      fc.property(arbitraryAsset, fc.boolean(), (any, legacy) => {
        expect(assetSchema.safeParse(toAssetDetails(any, NEW_ASSET_STATE, TIME, legacy)).success).toBe(true);
        expect(assetListItemSchema.safeParse(toAssetListItem(any, NEW_ASSET_STATE, TIME, legacy)).success).toBe(true);
      }),
    );
  });
});
