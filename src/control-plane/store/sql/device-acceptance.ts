import { ACCEPTANCE_BIT, bitsAt, CLONED_BIT, reasonsOfBits, REPLACED_BIT } from "../../core/attention.ts";
import { FLEET_KEY } from "../../core/fleets/attempt.ts";
import type { AttentionReason } from "../../../protocol/assets/attention.ts";
import type { AuditEntry } from "../audit.ts";
import { appendAccountEvents } from "./append-events.ts";
import { recordAudit } from "./audit.ts";
import { change, one, type Work } from "./statement.ts";

/*
 * Which devices were accepted. Until an operator accepts a device, it gets nothing of a fleet's, and nothing that was meant for the
 * device whose place it has taken.
 */

interface StateRow {
  readonly account_id: string;
  readonly reasons: number;
  readonly budget_spent_until: number | null;
}

const ACCEPTS_BY_ITSELF =
  "EXISTS (SELECT 1 FROM accounts c WHERE c.id = asset_states.account_id AND c.auto_accept = 1)";
const CHANGED = "RETURNING account_id, reasons, budget_spent_until";

const ACCEPT = /* sql */ `
  UPDATE asset_states SET accepted_at = coalesce(accepted_at, ?), reasons = reasons & ~${ACCEPTANCE_BIT | REPLACED_BIT}
  WHERE asset_uuid = ? AND (accepted_at IS NULL OR (reasons & ${ACCEPTANCE_BIT | REPLACED_BIT}) <> 0) ${CHANGED}`;
const ACCEPT_NEW = `UPDATE asset_states SET accepted_at = ? WHERE asset_uuid = ? AND (? = 1 OR ${ACCEPTS_BY_ITSELF})`;
/** What was requested before was meant for the device that an operator has accepted. */
const WITHDRAW = /* sql */ `
  UPDATE asset_states SET accepted_at = NULL, replaced_at_ms = CAST(? AS BIGINT)
  WHERE asset_uuid = ? AND accepted_at IS NOT NULL AND NOT ${ACCEPTS_BY_ITSELF} ${CHANGED}`;
/** A device that was never connected is not replaced: nothing was meant for it. */
const REPLACE = /* sql */ `
  UPDATE asset_states SET replaced_at_ms = CAST(?1 AS BIGINT),
    accepted_at = CASE WHEN ${ACCEPTS_BY_ITSELF} THEN CAST(?1 AS BIGINT) / 1000 END,
    reasons = CASE WHEN ${ACCEPTS_BY_ITSELF} THEN reasons ELSE reasons | ${ACCEPTANCE_BIT | REPLACED_BIT} END
  WHERE asset_uuid = ?2 AND last_seen_at IS NOT NULL ${CHANGED}`;
const MARK_CLONED = `UPDATE asset_states SET reasons = reasons | ${CLONED_BIT} WHERE asset_uuid = ? ${CHANGED}`;
const UNMARK_CLONED = /* sql */ `
  UPDATE asset_states SET reasons = reasons & ~${CLONED_BIT} WHERE asset_uuid = ? AND (reasons & ${CLONED_BIT}) <> 0 ${CHANGED}`;
const FIND_ACCOUNT = "SELECT account_id FROM asset_states WHERE asset_uuid = ?";

/**
 * Deployments whose commands are kept back from the device, of the table with the alias `d`: while it waits for acceptance, those
 * of fleets, whose keys no client can have, and those that were requested for the device before.
 */
export const KEPT_BACK = /* sql */ `
  (d.delivery = 'command' AND EXISTS (SELECT 1 FROM asset_states t WHERE t.asset_uuid = d.asset_uuid AND t.accepted_at IS NULL
    AND (d.idempotency_key LIKE '${FLEET_KEY}%' OR d.created_at_ms <= t.replaced_at_ms)))`;

/** Accepts the device of an asset. Returns whether it was not accepted before; `undefined` if there is no such asset. */
export function* acceptDevice(assetUuid: string, at: number, audit: AuditEntry): Work<boolean | undefined> {
  const row = yield* one<StateRow>(ACCEPT, [at, assetUuid]);
  if (!row) return (yield* one(FIND_ACCOUNT, [assetUuid])) ? false : undefined;
  const attention = attentionOf(row, at);
  yield* appendAccountEvents(row.account_id, [{ type: "asset.accepted", asset_id: assetUuid, attention }]);
  yield* recordAudit(audit);
  return true;
}

/** Accepts a new asset if that was asked for, or its account accepts by itself. */
export function* acceptNew(assetUuid: string, at: number, isAskedFor: boolean): Work<void> {
  yield* change(ACCEPT_NEW, [at, assetUuid, Number(isAskedFor)]);
}

/** The device has to be accepted again, unless the account accepts by itself. */
export function* withdrawAcceptance(assetUuid: string, nowMs: number): Work<void> {
  const row = yield* one<StateRow>(WITHDRAW, [nowMs, assetUuid]);
  if (row) yield* appendAccountEvents(row.account_id, [{ type: "asset.changed", asset_id: assetUuid }]);
}

/** A device has taken the place of one that was in service. */
export function* deviceReplaced(assetUuid: string, nowMs: number): Work<void> {
  const row = yield* one<StateRow>(REPLACE, [nowMs, assetUuid]);
  if (!row) return;
  const attention = attentionOf(row, Math.floor(nowMs / 1000));
  yield* appendAccountEvents(row.account_id, [{ type: "device.replaced", asset_id: assetUuid, attention }]);
}

/** Another device has the same token, or has not been seen for long. */
export function* markCloned(assetUuid: string, isCloned: boolean): Work<void> {
  const row = yield* one<StateRow>(isCloned ? MARK_CLONED : UNMARK_CLONED, [assetUuid]);
  if (row) yield* appendAccountEvents(row.account_id, [{ type: "asset.changed", asset_id: assetUuid }]);
}

function attentionOf({ reasons, budget_spent_until: spentUntil }: StateRow, at: number): AttentionReason[] {
  return reasonsOfBits(bitsAt(reasons, spentUntil, at));
}
