import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import { uploadHashes } from "../../core/named-uploads.ts";
import { findRefusal } from "../admit-deployment.ts";
import { createdValues } from "../deployment-columns.ts";
import type { CreateResult, DeploymentCreation } from "../deployments.ts";
import type { Queryable } from "../sql/postgres-executor.ts";
import { auditRow } from "./audit-row.ts";
import { CREATE, CREATION_FACTS, LOCK_ACCOUNT, LOCK_DEVICE, RELEASE_KEY } from "./deployment-statements.ts";
import { assetEffectsOf } from "./asset-effects.ts";
import type { PostgresPool } from "./pool.ts";

/**
 * Free space of an account below which its deployments are created one after the other, so that they keep to the limit
 * together. Above it they cannot reach the limit: they are too few at a time for that, and too small.
 */
const NEARLY_FULL_BYTES = 64 * 1024 * 1024;

interface FactsRow {
  readonly usedBytes: number;
  readonly running: number;
  readonly repeatedId: string | null;
  readonly requestHash: Uint8Array | null;
  readonly repeatedCode: ErrorCode | null;
}

const NAME_UPLOADS = /* sql */ `
  INSERT INTO deployment_uploads (deployment_id, account_id, sha256) SELECT $1, $2, unnest($3::text[])`;

/**
 * Stores a new deployment. The row of the device's session is locked: others of the same asset come before or after it, and
 * its device connects before or after it.
 */
export async function createDeployment(pool: PostgresPool, creation: DeploymentCreation): Promise<CreateResult> {
  const { after, limits, specBytes } = creation;
  for (;;) {
    const result = await pool.transaction(async (client): Promise<CreateResult | undefined> => {
      // Sent together, carried out one after the other.
      const lock = client.query<{ holder: string | null }>(LOCK_DEVICE, [after.assetUuid]);
      const [session, first] = await Promise.all([lock, readFacts(client, creation)]);
      const holder = session.rows[0]?.holder ?? undefined;
      let facts = first;
      if (limits && facts.usedBytes + specBytes > limits.maxAccountBytes - NEARLY_FULL_BYTES) {
        await client.query(LOCK_ACCOUNT, [after.accountId]);
        facts = await readFacts(client, creation);
      }
      const { repeatedId, requestHash, repeatedCode: code } = facts;
      const repeated = repeatedId === null ? undefined : { id: repeatedId, requestHash, code };
      const refused = findRefusal(creation, { ...facts, holder, repeated });
      if (refused) return refused;
      if (repeated) await client.query(RELEASE_KEY, [repeated.id]);
      return store(client, creation);
    });
    // Otherwise another request with the same key came first: now it is found.
    if (result) return result;
  }
}

async function readFacts(client: Queryable, { after, idempotency }: DeploymentCreation): Promise<FactsRow> {
  const { accountId, assetUuid } = after;
  const { rows } = await client.query<FactsRow>(CREATION_FACTS, [accountId, assetUuid, idempotency?.key ?? null]);
  if (!rows[0]) throw new Error("the facts for a new deployment are one row");
  return rows[0];
}

/** Returns `undefined` if another deployment has the same idempotency key. */
async function store(client: Queryable, creation: DeploymentCreation): Promise<CreateResult | undefined> {
  const { after, events, audit } = creation;
  const { effects, events: told } = assetEffectsOf([{ before: undefined, after }]);
  const { rowCount } = await client.query(CREATE, [
    JSON.stringify(events.map(({ seq, json }) => ({ seq, event: json }))),
    JSON.stringify(audit ? [auditRow(audit)] : []),
    effects,
    told,
    ...createdValues(creation),
  ]);
  if (rowCount === 0) return undefined;
  const uploads = uploadHashes(after.command);
  if (uploads.length > 0) await client.query(NAME_UPLOADS, [after.id, after.accountId, uploads]);
  return { kind: "created" };
}
