import type { DatabaseSync } from "node:sqlite";
import { hasResidualData, markResidualData, scrub } from "../../lib/sqlite.ts";
import { secretsOfRecord } from "../core/app/container.ts";
import type { DeploymentRecord } from "../core/deployment/record.ts";

type SecretValues = ReadonlySet<string>;

/**
 * Knows whether the store's files still hold values that an app or a deployment was given and that no record has any
 * more: in space that is free, and in the log. That they may is in the database itself, written with the change that
 * took them away, so that a crash in between does not hide it.
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
   * Notes which of these values no record has any more. Must be called in the transaction, after its changes.
   *
   * @param values of the records that were replaced or removed
   */
  trackRemoved(values: SecretValues): void {
    if (this.#hasResidualData || values.size === 0) return;
    const kept = collectSecretValues(this.#records());
    if ([...values].every((value) => kept.has(value))) return;
    markResidualData(this.#database);
    this.#hasResidualData = true;
  }

  /** Overwrites them, and empties the log. Throws when that cannot be done now. */
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

/** The values that apps were given, and credentials, in records as they are stored. */
export function collectSecretValues(records: readonly unknown[]): SecretValues {
  return new Set(records.flatMap(secretValuesOf).filter((value) => value !== ""));
}

function secretValuesOf(record: unknown): string[] {
  if (typeof record !== "string") return [];
  try {
    const { options = {}, ...rest } = JSON.parse(record) as Partial<DeploymentRecord>;
    return secretsOfRecord({ spec: undefined, previous: undefined, ...rest, options });
  } catch {
    // Damaged: whatever it holds is something that may remain.
    return [record];
  }
}
