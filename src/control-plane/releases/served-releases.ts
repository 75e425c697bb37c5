import { RELEASE_TYPES } from "../../lib/release/read-release.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { type AgentReleaseStore, PIECE_BYTES, type ReleasePart } from "../store/agent-releases.ts";
import type { ByteRange } from "./byte-range.ts";

/** The repository of all releases, with a tag for each version. */
export const RELEASE_REPOSITORY = "edge-agent";

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MANIFEST_TYPES: ReadonlySet<string> = new Set([RELEASE_TYPES.index, RELEASE_TYPES.manifest]);

/** Where devices find a release of the agent. */
export interface ServedRelease {
  /** Path of the repository below `/v2/` of the service's own address. */
  readonly repository: string;
  /** Digest of the release's index: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** The releases of the store as a repository. */
export class ServedReleases {
  readonly #store: AgentReleaseStore;

  constructor(store: AgentReleaseStore) {
    this.#store = store;
  }

  /** Returns where devices find the release of a version; `undefined` if the service has none. */
  async releaseOf(version: string): Promise<ServedRelease | undefined> {
    const release = await this.#store.findRelease(version);
    return release && { repository: RELEASE_REPOSITORY, digest: release.digest };
  }

  /** The same. Error: `AgentReleaseNotFound`. */
  async requireRelease(version: string): Promise<ServedRelease> {
    const served = await this.releaseOf(version);
    if (served) return served;
    throw new EdgeError("AgentReleaseNotFound", `The service has no release ${version} of the agent.`);
  }

  /** @param reference a version or a digest */
  async findManifest(reference: string): Promise<ReleasePart | undefined> {
    const digest = DIGEST.test(reference) ? reference : (await this.#store.findRelease(reference))?.digest;
    const part = digest === undefined ? undefined : await this.findBlob(digest);
    return part && MANIFEST_TYPES.has(part.mediaType) ? part : undefined;
  }

  async findBlob(digest: string): Promise<ReleasePart | undefined> {
    return DIGEST.test(digest) ? await this.#store.findPart(digest) : undefined;
  }

  /** Returns the list of what refers to a manifest, as OCI's referrers API has it. */
  async referrersOf(digest: string, artifactType: string | undefined): Promise<object> {
    const found = DIGEST.test(digest) ? await this.#store.listReferrers(digest) : [];
    const wanted = found.filter((part) => artifactType === undefined || part.artifactType === artifactType);
    return {
      schemaVersion: 2,
      mediaType: RELEASE_TYPES.index,
      manifests: wanted.map((part) => ({
        mediaType: part.mediaType,
        digest: part.digest,
        size: part.bytes,
        artifactType: part.artifactType,
      })),
    };
  }

  /** Reads bytes of a part, piece by piece. Error: `NotFound`, if the release is removed meanwhile. */
  async *read({ digest }: ReleasePart, { first, last }: ByteRange): AsyncGenerator<Uint8Array> {
    for (let position = Math.floor(first / PIECE_BYTES); position * PIECE_BYTES <= last; position++) {
      const piece = await this.#store.readPiece(digest, position);
      if (!piece) throw new EdgeError("NotFound", "The release was removed.");
      const begin = position * PIECE_BYTES;
      yield piece.subarray(Math.max(0, first - begin), last + 1 - begin);
    }
  }
}
