import type { DeploymentEvent } from "../../../protocol/deployment-event.ts";
import type { Deployment } from "../../core/deployment.ts";
import type { AuditEntry } from "../audit.ts";
import type { CreateResult, CreationLimits, Idempotency } from "../deployments.ts";
import { auditRow } from "./audit-row.ts";
import { CHANGED_COLUMNS, type ChangedDeployment, unchanged, withChange } from "./deployment-change.ts";
import { CREATE, CREATION_FACTS, LOCK_ACCOUNT, LOCK_DEVICE } from "./deployment-statements.ts";
import { effectsOf } from "./deployment-effects.ts";
import type { Decide } from "./deployment-writer.ts";
import type { PostgresPool, Queryable } from "./pool.ts";

/**
 * Free space of an account below which its deployments are created one after the other, so that they keep to the limit
 * together. Above it they cannot reach the limit: they are too few at a time for that, and too small.
 */
const NEARLY_FULL_BYTES = 64 * 1024 * 1024;

interface Creation {
  readonly deployment: Deployment;
  readonly first: DeploymentEvent;
  readonly idempotency: Idempotency | undefined;
  readonly limits: CreationLimits | undefined;
  readonly receive: Decide | undefined;
  readonly audit: AuditEntry | undefined;
}

interface Facts {
  readonly usedBytes: number;
  readonly running: number;
  readonly repeatedId: string | null;
  readonly requestHash: Uint8Array | null;
}

/**
 * Stores a new deployment as it is after the decision what becomes of it. The row of the device's session is locked: others
 * of the same asset come before or after it, and its device connects before or after it.
 */
export async function createDeployment(pool: PostgresPool, creation: Creation): Promise<CreateResult> {
  const { deployment, limits } = creation;
  const size = Buffer.byteLength(JSON.stringify(deployment.spec));
  for (;;) {
    const result = await pool.transaction(async (client): Promise<CreateResult | undefined> => {
      // Sent together, carried out one after the other.
      const lock = client.query<{ holder: string | null }>(LOCK_DEVICE, [deployment.assetUuid]);
      const [session, first] = await Promise.all([lock, readFacts(client, creation)]);
      const holder = session.rows[0]?.holder ?? undefined;
      let facts = first;
      if (limits && facts.usedBytes + size > limits.maxAccountBytes - NEARLY_FULL_BYTES) {
        await client.query(LOCK_ACCOUNT, [deployment.accountId]);
        facts = await readFacts(client, creation);
      }
      return findRefusal(creation, facts, size) ?? (await store(client, creation, holder));
    });
    // Otherwise another request with the same key came first: now it is found.
    if (result) return result;
  }
}

async function readFacts(client: Queryable, { deployment, idempotency }: Creation): Promise<Facts> {
  const { accountId, assetUuid } = deployment;
  const { rows } = await client.query<Facts>(CREATION_FACTS, [accountId, assetUuid, idempotency?.key ?? null]);
  if (!rows[0]) throw new Error("the facts for a new deployment are one row");
  return rows[0];
}

function findRefusal({ idempotency, limits }: Creation, facts: Facts, size: number): CreateResult | undefined {
  const { usedBytes, running, repeatedId, requestHash } = facts;
  if (idempotency && repeatedId !== null) {
    const isSame = requestHash !== null && Buffer.compare(requestHash, idempotency.requestHash) === 0;
    return isSame ? { kind: "repeated", id: repeatedId } : { kind: "conflict" };
  }
  if (!limits) return undefined;
  if (usedBytes + size > limits.maxAccountBytes) return { kind: "quota_exceeded", usedBytes };
  return running >= limits.maxRunningPerAsset ? { kind: "too_many_running" } : undefined;
}

/** Returns `undefined` if another deployment has the same idempotency key. */
async function store(
  client: Queryable,
  { deployment, first, idempotency, receive, audit }: Creation,
  holder: string | undefined,
): Promise<CreateResult | undefined> {
  const event = JSON.stringify(first);
  const eventBytes = Buffer.byteLength(event);
  const received = { ...deployment, holder, lastSeq: first.seq, lastEvent: first, eventBytes };
  const events = [{ id: deployment.id, seq: first.seq, event }];
  const initial: ChangedDeployment = { ...unchanged(received), events };
  const change = receive?.(received);
  const changed = change ? withChange(initial, change) : initial;
  const { effects, events: told } = effectsOf([{ before: undefined, after: changed.after }]);
  const { rowCount } = await client.query(CREATE, [
    JSON.stringify(changed.events),
    JSON.stringify(audit ? [auditRow(audit)] : []),
    effects,
    told,
    ...firstValues(changed.after, idempotency),
    ...CHANGED_COLUMNS.map(({ valueOf }) => valueOf(changed.after) ?? null),
  ]);
  return rowCount === 0 ? undefined : { kind: "created", deployment: changed.after };
}

/** In the order of the statement. */
function firstValues(deployment: Deployment, idempotency: Idempotency | undefined): unknown[] {
  return [
    deployment.id,
    deployment.accountId,
    deployment.assetUuid,
    deployment.app,
    deployment.action,
    JSON.stringify(deployment.spec),
    JSON.stringify(deployment.options),
    deployment.hasRegistryAuth ? 1 : 0,
    deployment.createdAtMs,
    deployment.waitUntilMs ?? null,
    idempotency?.key ?? null,
    idempotency?.requestHash ?? null,
  ];
}
