import type { Asset } from "../../core/asset.ts";
import { type Identifier, identifiersOf } from "../../core/identifier.ts";
import type { IdentifierOwner } from "../assets.ts";
import { change, one, type Parameters, type Work } from "./statement.ts";

/** How often an insertion is tried. */
const MAX_ATTEMPTS = 5;

const FIND_OWNER = /* sql */ `
  SELECT a.uuid AS "assetUuid", a.account_id AS "accountId"
  FROM identifiers i JOIN assets a ON a.uuid = i.asset_uuid WHERE i.value = ?`;
const INSERT_ASSET = /* sql */ `
  INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, device_token_hash)
  VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uuid) DO NOTHING`;
const INSERT_IDENTIFIER = "INSERT INTO identifiers (value, asset_uuid) VALUES (?, ?) ON CONFLICT DO NOTHING";
const INSERT_SIM = /* sql */ `
  INSERT INTO sims (asset_uuid, kind, iccid, sid, imsi, network_group, service_profile, status)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

/** Rolls back the transaction of `insertAsset`. */
export class IdentifierTakenError extends Error {
  readonly field: Identifier["field"];
  readonly value: string;
  readonly owner: IdentifierOwner;

  constructor({ field, value }: Identifier, owner: IdentifierOwner) {
    super(`taken: ${field}`);
    this.field = field;
    this.value = value;
    this.owner = owner;
  }
}

/** Stores the asset with its identifiers and SIMs. Throws `IdentifierTakenError`. */
export function* insertAsset(asset: Asset, deviceTokenHash: Uint8Array): Work<void> {
  const { uuid, accountId, serialNumber, name, type, createdAt, supersim, prosim } = asset;
  const uuidIdentifier = { field: "uuid", value: uuid } as const;
  // First, since it may be an identifier of another kind.
  yield* requireFree(uuidIdentifier);
  const values = [uuid, accountId, serialNumber, name, type, createdAt, deviceTokenHash];
  yield* insertUnlessTaken(uuidIdentifier, INSERT_ASSET, values);
  for (const identifier of identifiersOf(asset))
    yield* insertUnlessTaken(identifier, INSERT_IDENTIFIER, [identifier.value, uuid]);
  if (supersim) {
    const { iccid, sid, networkGroup, status } = supersim;
    yield* change(INSERT_SIM, [uuid, "supersim", iccid, sid, null, networkGroup, null, status]);
  }
  if (prosim) {
    const { iccid, imsi, serviceProfile, status } = prosim;
    yield* change(INSERT_SIM, [uuid, "prosim", iccid, null, imsi, null, serviceProfile, status]);
  }
}

/** The statement inserts nothing if the identifier is taken; it waits for a transaction that is taking or freeing it. */
function* insertUnlessTaken(identifier: Identifier, sql: string, values: Parameters): Work<void> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    if ((yield* change(sql, values)) > 0) return;
    // Not taken any more if its asset was removed between the two statements.
    yield* requireFree(identifier);
  }
  throw new Error(`${identifier.field} was taken and freed ${MAX_ATTEMPTS} times while the asset was registered`);
}

function* requireFree(identifier: Identifier): Work<void> {
  const owner = yield* one<IdentifierOwner>(FIND_OWNER, [identifier.value]);
  if (owner) throw new IdentifierTakenError(identifier, owner);
}
