import { BROWSER_RETENTION_S, type BrowserStore, MAX_BROWSERS_PER_USER } from "../user-sessions.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";

const FIND = "SELECT 1 AS found FROM browser_tokens WHERE hash = ? AND user_id = ? AND last_used_at > ?";
const FIND_ANY = "SELECT 1 AS found FROM browser_tokens WHERE hash = ? AND last_used_at > ?";
const STORE = /* sql */ `
  INSERT INTO browser_tokens (hash, user_id, created_at, last_used_at) VALUES (?1, ?2, ?3, ?3)
  ON CONFLICT (hash) DO UPDATE SET last_used_at = excluded.last_used_at WHERE browser_tokens.user_id = excluded.user_id`;
const REMOVE_SURPLUS = /* sql */ `
  DELETE FROM browser_tokens WHERE user_id = ?1 AND (last_used_at <= ?3 OR hash NOT IN (
    SELECT hash FROM browser_tokens WHERE user_id = ?1 ORDER BY last_used_at DESC, created_at DESC, hash LIMIT ?2))`;

export class SqlBrowserStore implements BrowserStore {
  readonly #executor: Executor;
  readonly #lockUser: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#lockUser = `SELECT id FROM users WHERE id = ? ${executor.dialect.lockRows}`;
  }

  async isKnown(userId: string, hash: Uint8Array, at: number): Promise<boolean> {
    return (await this.#executor.one(FIND, [hash, userId, at - BROWSER_RETENTION_S])) !== undefined;
  }

  async isKnownToAnyone(hash: Uint8Array, at: number): Promise<boolean> {
    return (await this.#executor.one(FIND_ANY, [hash, at - BROWSER_RETENTION_S])) !== undefined;
  }

  async remember(userId: string, hash: Uint8Array, at: number): Promise<void> {
    await this.#executor.transact(() => this.#remember(userId, hash, at));
  }

  *#remember(userId: string, hash: Uint8Array, at: number): Work<void> {
    // Locked: the user may be removed at the same time, and two sign-ins count the same browsers.
    if (!(yield* one(this.#lockUser, [userId]))) return;
    yield* change(STORE, [hash, userId, at]);
    yield* change(REMOVE_SURPLUS, [userId, MAX_BROWSERS_PER_USER, at - BROWSER_RETENTION_S]);
  }
}
