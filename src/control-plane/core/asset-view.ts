import type { AssetBody, AssetListItem, DeviceClone, LegacySim } from "../../protocol/assets/asset.ts";
import { type Asset, deriveStatus, type PendingChange, type SuperSim } from "./asset.ts";
import type { Boot, CloneFacts } from "./device-boots.ts";
import { type AssetState, type AttentionTime, reasonsOf } from "./attention.ts";

type AssetTags = ReadonlyMap<string, string>;

const NO_TAGS: AssetTags = new Map();

/** Returns an asset as an entry of a list. `legacy` adds the deprecated mirror `sim`. */
export function toAssetListItem(
  asset: Asset,
  state: AssetState,
  time: AttentionTime,
  legacy: boolean,
  tags: AssetTags = NO_TAGS,
): AssetListItem {
  const { supersim, prosim } = asset;
  return {
    uuid: asset.uuid,
    serial_number: asset.serialNumber,
    name: asset.name,
    type: asset.type,
    created_at: asset.createdAt,
    updated_at: state.updatedAt,
    status: deriveStatus(asset),
    connected: state.isConnected,
    last_seen: (state.isConnected ? time.now : state.lastSeenAt) ?? null,
    agent_version: state.agentVersion ?? null,
    accepted_at: state.acceptedAt ?? null,
    tags: Object.fromEntries(tags),
    attention: reasonsOf(state, time),
    ...(state.boots?.clone && { clone: toCloneView(state.boots.current, state.boots.clone) }),
    ...(supersim && {
      supersim: {
        sid: supersim.sid,
        iccid: supersim.iccid,
        network_group: supersim.networkGroup,
        ...(supersim.pending && { pending: toPendingView(supersim.pending) }),
      },
    }),
    ...(prosim && {
      prosim: {
        imsi: prosim.imsi,
        iccid: prosim.iccid,
        service_profile: prosim.serviceProfile,
        ...(prosim.pending && { pending: toPendingView(prosim.pending) }),
      },
    }),
    ...(legacy && supersim && { sim: toLegacySim(supersim) }),
  };
}

function toCloneView(current: Boot, { contender, seenAt, lastAt }: CloneFacts): DeviceClone {
  const devices = [current, contender].map(({ id, address, since }) => ({ boot_id: id, address, since }));
  return { since: seenAt, last_seen: lastAt, devices };
}

/** Returns a pending change as the API shows it. */
export function toPendingView({ status, networkGroup, since }: PendingChange) {
  return {
    ...(status !== undefined && { status }),
    ...(networkGroup !== undefined && { network_group: networkGroup }),
    since,
  };
}

/** Returns all fields of an asset. `legacy` adds the deprecated mirrors `sim` and `network_group`. */
export function toAssetDetails(
  asset: Asset,
  state: AssetState,
  time: AttentionTime,
  legacy: boolean,
  tags: AssetTags = NO_TAGS,
): AssetBody {
  return {
    ...toAssetListItem(asset, state, time, legacy, tags),
    ...(legacy && asset.supersim && { network_group: asset.supersim.networkGroup }),
  };
}

/** Returns the deprecated mirror of a Super SIM; its `status` is that SIM's own, not the asset's. */
export function toLegacySim(sim: SuperSim): LegacySim {
  return { sid: sim.sid, iccid: sim.iccid, network_group: sim.networkGroup, status: sim.status };
}
