import type { DatabaseSync } from "node:sqlite";
import { hasResidualData, markResidualData, scrub } from "../../lib/sqlite.ts";
import { secretsOfRecord } from "../core/app/secrets.ts";
import type { DeploymentRecord } from "../core/records.ts";

type SecretValues = ReadonlySet<string>;

/**
 * Tracks whether the store's files still contain secret values that no record has any more: in free pages and in the
 * WAL. The mark is stored in the database, in the transaction that removed the values, so that it survives a crash.
 */
export class ResidualDataTracker {
  readonly #database: DatabaseSync;
  #hasResidualData: boolean;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#hasResidualData = hasResidualData(database);
  }

  get hasResidualData(): boolean {
    return this.#hasResidualData;
  }

  /**
   * Marks residual data if a value is in no record any more. Must be called in the transaction, after its changes.
   *
   * @param values secret values of the records that were replaced or removed
   */
  trackRemoved(values: SecretValues): void {
    if (this.#hasResidualData || values.size === 0) return;
    const kept = collectSecretValues(this.#records());
    if ([...values].every((value) => kept.has(value))) return;
    this.mark();
  }

  /** Marks residual data. Must be called in the transaction that removed it. */
  mark(): void {
    markResidualData(this.#database);
    this.#hasResidualData = true;
  }

  /** Overwrites residual data and empties the WAL. Throws when that fails. */
  scrub(): void {
    if (!this.#hasResidualData) return;
    scrub(this.#database);
    this.#hasResidualData = false;
  }

  #records(): unknown[] {
    const rows = this.#database.prepare("SELECT record FROM apps UNION ALL SELECT record FROM deployments").all();
    return rows.map(({ record }) => record);
  }
}

/** Returns the secret values in stored records: environment values and credentials. */
export function collectSecretValues(records: readonly unknown[]): SecretValues {
  return new Set(records.flatMap(secretValuesOf).filter((value) => value !== ""));
}

function secretValuesOf(record: unknown): string[] {
  if (typeof record !== "string") return [];
  try {
    const { options = {}, ...rest } = JSON.parse(record) as Partial<DeploymentRecord>;
    return secretsOfRecord({ spec: undefined, previous: undefined, ...rest, options });
  } catch {
    // A damaged record counts as one secret value.
    return [record];
  }
}
