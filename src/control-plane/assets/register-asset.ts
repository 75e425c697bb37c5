import { randomUUIDv7 } from "node:crypto";
import { type Clock, unixNow } from "../../lib/clock.ts";
import type { AssetRegistration } from "../../protocol/assets/asset-request.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { auditEntry, type AuditOrigin } from "../accounts/audit-entry.ts";
import { requireKnownGroup } from "../core/network-group.ts";
import { createSecret, hashSecret } from "../accounts/secrets.ts";
import type { Asset } from "../core/asset.ts";
import type { RegisterResult } from "../store/assets.ts";
import type { Store } from "../store/store.ts";

/** A new asset and its device token, of which only the hash is stored. */
export interface RegistrationResult {
  readonly asset: Asset;
  readonly deviceToken: string;
}

export interface Registrar {
  readonly store: {
    readonly assets: Pick<Store["assets"], "registerAsset">;
    readonly networkGroups: Pick<Store["networkGroups"], "listNetworkGroups">;
  };
  readonly clock: Clock;
  readonly bind?: (asset: Asset) => Asset | Promise<Asset>;
  /** Whether the device is accepted at once. */
  readonly isAccepted?: boolean;
  readonly release?: (conflict: IdentifierConflict) => Promise<boolean>;
}

/** An asset has two SIMs at most. */
const MAX_RELEASED = 2;

/** An identifier that belongs to another asset, or to another field of the same asset. */
export type IdentifierConflict = Extract<RegisterResult, { ok: false }>;

/**
 * Registers an asset under an existing account. Its SIMs start as active, unless their operators say otherwise. Errors:
 * `UnknownNetworkGroup`, those of `bind`, and `IdentifierTaken` with the field but not the owner.
 *
 * @param bind returns the asset as it is stored, before anything is
 * @param release frees an identifier that belongs to this account now, and returns whether it did
 * @param onConflict called before `IdentifierTaken` is thrown, with the owner, which the account must not see
 */
export async function registerAsset(
  { store, clock, isAccepted = false, bind = (asset) => asset, release = async () => false }: Registrar,
  origin: AuditOrigin,
  registration: AssetRegistration,
  onConflict: (conflict: IdentifierConflict) => void = () => {},
): Promise<RegistrationResult> {
  const { supersim, prosim } = registration;
  const { accountId } = origin;
  if (supersim) {
    requireKnownGroup(supersim.network_group, await store.networkGroups.listNetworkGroups(accountId));
  }
  const asset = await bind({
    // Version 7 increases with time, so assets registered within one second keep their order in lists.
    uuid: randomUUIDv7(),
    accountId,
    serialNumber: registration.serial_number,
    name: registration.name ?? registration.serial_number,
    type: registration.type,
    createdAt: unixNow(clock),
    supersim: supersim && {
      sid: supersim.sid,
      iccid: supersim.iccid,
      networkGroup: supersim.network_group,
      status: "active",
    },
    prosim: prosim && {
      imsi: prosim.imsi,
      iccid: prosim.iccid,
      serviceProfile: prosim.service_profile,
      status: "active",
    },
  });
  const deviceToken = createSecret("ed_");
  const entry = auditEntry(origin, clock, {
    action: "asset.registered",
    assetUuid: asset.uuid,
    subject: { kind: "asset", id: asset.uuid, name: asset.name },
    details: {
      serial_number: asset.serialNumber,
      type: asset.type,
      network_group: asset.supersim?.networkGroup,
      service_profile: asset.prosim?.serviceProfile,
      accepted: isAccepted,
    },
  });
  let result = await store.assets.registerAsset(asset, hashSecret(deviceToken), entry, isAccepted);
  for (let released = 0; !result.ok && released < MAX_RELEASED && (await release(result)); released++)
    result = await store.assets.registerAsset(asset, hashSecret(deviceToken), entry, isAccepted);
  if (!result.ok) {
    onConflict(result);
    throw new EdgeError("IdentifierTaken", `The value of ${result.taken} cannot be used.`, {
      field: result.taken,
    });
  }
  return { asset, deviceToken };
}
