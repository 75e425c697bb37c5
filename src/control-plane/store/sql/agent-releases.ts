import {
  type AddReleaseResult,
  type AgentRelease,
  type AgentReleaseImage,
  type AgentReleaseStore,
  MAX_AGENT_RELEASES,
  PIECE_BYTES,
  type ReleasePart,
} from "../agent-releases.ts";
import type { AuditEntry } from "../audit.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { all, change, one, type Work } from "./statement.ts";

/** Of changes of releases: pieces are not removed while a release that consists of them is added. */
const LOCK_NUMBER = 4_215_040;
const ADD_PIECE = /* sql */ `
  INSERT INTO agent_release_pieces (digest, position, content) VALUES (?, ?, ?)
  ON CONFLICT (digest, position) DO UPDATE SET content = excluded.content`;
const COUNT = "SELECT count(*) AS count FROM agent_releases";
const STORED = /* sql */ `
  SELECT count(*) AS pieces, CAST(coalesce(sum(octet_length(content)), 0) AS BIGINT) AS bytes
  FROM agent_release_pieces WHERE digest = ?`;
const ADD = "INSERT INTO agent_releases (version, digest, images, added_at) VALUES (?, ?, ?, CAST(? AS BIGINT))";
const ADD_PART = /* sql */ `
  INSERT INTO agent_release_parts (version, digest, bytes, media_type, artifact_type, subject)
  VALUES (?, ?, CAST(? AS BIGINT), ?, ?, ?)`;
const REMOVE = "DELETE FROM agent_releases WHERE version = ?";
const REMOVE_UNUSED = /* sql */ `
  DELETE FROM agent_release_pieces WHERE (digest, position) IN (
    SELECT digest, position FROM agent_release_pieces
    WHERE NOT EXISTS (SELECT 1 FROM agent_release_parts p WHERE p.digest = agent_release_pieces.digest)
    LIMIT ?)`;
const COLUMNS = "SELECT version, digest, images, added_at FROM agent_releases";
const LIST = `${COLUMNS} ORDER BY added_at DESC, version DESC`;
const FIND = `${COLUMNS} WHERE version = ?`;
const PARTS = "SELECT digest, bytes, media_type, artifact_type, subject FROM agent_release_parts";
const FIND_PART = `${PARTS} WHERE digest = ? LIMIT 1`;
const REFERRERS = `${PARTS} WHERE subject = ? ORDER BY digest`;
const READ_PIECE = "SELECT content FROM agent_release_pieces WHERE digest = ? AND position = ?";

interface Row {
  readonly version: string;
  readonly digest: string;
  readonly images: string;
  readonly added_at: number;
}

interface PartRow {
  readonly digest: string;
  readonly bytes: number;
  readonly media_type: string;
  readonly artifact_type: string | null;
  readonly subject: string | null;
}

export class SqlAgentReleaseStore implements AgentReleaseStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async addPiece(digest: string, position: number, content: Uint8Array): Promise<void> {
    await this.#executor.change(ADD_PIECE, [digest, position, content]);
  }

  async addRelease(
    release: AgentRelease,
    parts: readonly ReleasePart[],
    audit?: AuditEntry,
  ): Promise<AddReleaseResult> {
    return this.#executor.transact(() => this.#add(release, parts, audit));
  }

  *#add(release: AgentRelease, parts: readonly ReleasePart[], audit?: AuditEntry): Work<AddReleaseResult> {
    const { version, digest, images, addedAt } = release;
    yield* this.#lock();
    if (yield* one<Row>(FIND, [version])) return "exists";
    const counted = yield* one<{ readonly count: number }>(COUNT);
    if ((counted?.count ?? 0) >= MAX_AGENT_RELEASES) return "too_many";
    for (const part of parts) {
      const stored = yield* one<{ readonly pieces: number; readonly bytes: number }>(STORED, [part.digest]);
      const isComplete = stored?.bytes === part.bytes && stored.pieces === Math.ceil(part.bytes / PIECE_BYTES);
      if (!isComplete) return "incomplete";
    }
    yield* change(ADD, [version, digest, JSON.stringify(images), addedAt]);
    for (const part of parts) {
      const { bytes, mediaType, artifactType = null, subject = null } = part;
      yield* change(ADD_PART, [version, part.digest, bytes, mediaType, artifactType, subject]);
    }
    if (audit) yield* recordAudit(audit);
    return "added";
  }

  async removeRelease(version: string, audit?: AuditEntry): Promise<boolean> {
    const lock = this.#lock.bind(this);
    return this.#executor.transact(function* (): Work<boolean> {
      yield* lock();
      if ((yield* change(REMOVE, [version])) === 0) return false;
      if (audit) yield* recordAudit(audit);
      return true;
    });
  }

  async removeUnusedPieces(limit: number): Promise<number> {
    const lock = this.#lock.bind(this);
    return this.#executor.transact(function* (): Work<number> {
      yield* lock();
      return yield* change(REMOVE_UNUSED, [limit]);
    });
  }

  async listReleases(): Promise<readonly AgentRelease[]> {
    return (await this.#executor.all<Row>(LIST)).map(toRelease);
  }

  async findRelease(version: string): Promise<AgentRelease | undefined> {
    const row = await this.#executor.one<Row>(FIND, [version]);
    return row && toRelease(row);
  }

  async findPart(digest: string): Promise<ReleasePart | undefined> {
    const row = await this.#executor.one<PartRow>(FIND_PART, [digest]);
    return row && toPart(row);
  }

  async listReferrers(subject: string): Promise<readonly ReleasePart[]> {
    const parts = (await this.#executor.all<PartRow>(REFERRERS, [subject])).map(toPart);
    return parts.filter(({ digest }, index) => digest !== parts[index - 1]?.digest);
  }

  async readPiece(digest: string, position: number): Promise<Uint8Array | undefined> {
    return (await this.#executor.one<{ readonly content: Uint8Array }>(READ_PIECE, [digest, position]))?.content;
  }

  *#lock(): Work<void> {
    const lock = this.#executor.dialect.takeLock(LOCK_NUMBER);
    if (lock) yield* all(lock);
  }
}

function toRelease({ version, digest, images, added_at }: Row): AgentRelease {
  return { version, digest, images: JSON.parse(images) as AgentReleaseImage[], addedAt: added_at };
}

function toPart({ digest, bytes, media_type, artifact_type, subject }: PartRow): ReleasePart {
  const rest = { artifactType: artifact_type ?? undefined, subject: subject ?? undefined };
  return { digest, bytes, mediaType: media_type, ...rest };
}
