import type { StatementSync } from "node:sqlite";

// The ids are long and random, or hashes: a record contains one only where it names the content.
const REMOVE_UNUSED = /* sql */ `
  DELETE FROM file_contents WHERE
    NOT EXISTS (SELECT 1 FROM apps WHERE instr(record, file_contents.id)) AND
    NOT EXISTS (SELECT 1 FROM deployments WHERE instr(record, file_contents.id))`;

/** The table of contents of apps' files. Changes must be made in a transaction. */
export class FileContentTable {
  readonly #sql: (text: string) => StatementSync;

  /** @param sql returns the prepared statement of a text */
  constructor(sql: (text: string) => StatementSync) {
    this.#sql = sql;
  }

  find(id: string): Buffer | undefined {
    const content = this.#sql("SELECT content FROM file_contents WHERE id = ?").get(id)?.["content"];
    return content instanceof Uint8Array ? Buffer.from(content.buffer, content.byteOffset, content.length) : undefined;
  }

  add(contents: ReadonlyMap<string, Uint8Array> | undefined): void {
    for (const [id, content] of contents ?? []) {
      this.#sql("INSERT OR IGNORE INTO file_contents (id, content) VALUES (?, ?)").run(id, content);
    }
  }

  /** Removes the contents that no record names. Returns whether there were any. */
  removeUnused(): boolean {
    return Number(this.#sql(REMOVE_UNUSED).run().changes) > 0;
  }
}
