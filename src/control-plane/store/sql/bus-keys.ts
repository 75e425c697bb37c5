import type { BusKeyStore, StoredBusKey } from "../bus-keys.ts";
import type { Executor } from "./executor.ts";

const LIST = "SELECT id, key_id, sealed, created_at_ms FROM bus_keys ORDER BY created_at_ms DESC, id";
const ADD = "INSERT INTO bus_keys (id, key_id, sealed, created_at_ms) VALUES (?, ?, ?, ?)";
const REMOVE_BEFORE = "DELETE FROM bus_keys WHERE created_at_ms < ?";

interface KeyRow {
  readonly id: string;
  readonly key_id: string | null;
  readonly sealed: Uint8Array;
  readonly created_at_ms: number;
}

export class SqlBusKeyStore implements BusKeyStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async list(): Promise<readonly StoredBusKey[]> {
    const rows = await this.#executor.all<KeyRow>(LIST);
    return rows.map((row) => ({
      id: row.id,
      keyId: row.key_id ?? undefined,
      sealed: row.sealed,
      createdAtMs: row.created_at_ms,
    }));
  }

  async add({ id, keyId, sealed, createdAtMs }: StoredBusKey): Promise<void> {
    await this.#executor.change(ADD, [id, keyId ?? null, sealed, createdAtMs]);
  }

  async removeBefore(createdAtMs: number): Promise<void> {
    await this.#executor.change(REMOVE_BEFORE, [createdAtMs]);
  }
}
