import { expect, test } from "vitest";
import {
  type AgentRelease,
  MAX_AGENT_RELEASES,
  PIECE_BYTES,
  type ReleasePart,
} from "../../../src/control-plane/store/agent-releases.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { digestOf } from "../../../src/lib/registry/documents.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { describeDomain, type StoreHarness } from "./harness.ts";

const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar+zstd";

const release = (version: string, fields: Partial<AgentRelease> = {}): AgentRelease => ({
  version,
  digest: digestOf(Buffer.from(version)),
  images: [{ architecture: "arm64", bytes: 27_000_000, unpackedBytes: 120_000_000 }],
  addedAt: 5_000_000_000,
  ...fields,
});

const part = (content: Uint8Array, fields: Partial<ReleasePart> = {}): ReleasePart => ({
  digest: digestOf(content),
  bytes: content.length,
  mediaType: LAYER,
  artifactType: undefined,
  subject: undefined,
  ...fields,
});

/** Stores content in pieces, as for a part, and returns the part. */
async function addPieces({ agentReleases }: Store, content: Uint8Array, fields: Partial<ReleasePart> = {}) {
  const added = part(content, fields);
  for (let position = 0; position * PIECE_BYTES < content.length; position++) {
    const piece = content.subarray(position * PIECE_BYTES, (position + 1) * PIECE_BYTES);
    await agentReleases.addPiece(added.digest, position, piece);
  }
  return added;
}

const someContent = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_value, index) => (index * 7 + (index >> 8) + seed) % 256);

/** Contract of stores for releases of the agent. */
export function agentReleasesContract(harness: StoreHarness): void {
  describeDomain("releases of the agent", harness, () => {
    test("a release has its parts, whose pieces are its bytes", async () => {
      await using store = await harness.open();
      const { agentReleases } = store;
      const content = someContent(2 * PIECE_BYTES + 5);
      const layer = await addPieces(store, content);
      const index = await addPieces(store, Buffer.from("index"), { mediaType: INDEX });
      const signature = await addPieces(store, Buffer.from("signature"), {
        mediaType: MANIFEST,
        artifactType: "signature",
        subject: index.digest,
      });
      const added = release("1.5.0", { digest: index.digest });
      expect(await agentReleases.addRelease(added, [layer, index, signature])).toBe("added");
      expect(await agentReleases.findRelease("1.5.0")).toEqual(added);
      expect(await agentReleases.findRelease("1.5")).toBeUndefined();
      expect(await agentReleases.findPart(layer.digest)).toEqual(layer);
      expect(await agentReleases.listReferrers(index.digest)).toEqual([signature]);
      expect(await agentReleases.listReferrers(layer.digest)).toEqual([]);
      const pieces = [0, 1, 2].map((position) => agentReleases.readPiece(layer.digest, position));
      expect(Buffer.concat((await Promise.all(pieces)) as Uint8Array[]).equals(content)).toBe(true);
      expect(await agentReleases.readPiece(layer.digest, 3)).toBeUndefined();
    });

    test("releases are listed with the last one first, and none is replaced", async () => {
      await using store = await harness.open();
      const { agentReleases } = store;
      const content = await addPieces(store, Buffer.from("one"));
      for (const [index, version] of ["1.5.0", "1.4.0", "1.6.0"].entries())
        expect(await agentReleases.addRelease(release(version, { addedAt: index }), [content])).toBe("added");
      expect(await agentReleases.addRelease(release("1.4.0", { digest: "other" }), [content])).toBe("exists");
      const versions = (await agentReleases.listReleases()).map(({ version }) => version);
      expect(versions).toEqual(["1.6.0", "1.4.0", "1.5.0"]);
      expect(await agentReleases.findRelease("1.4.0")).toEqual(release("1.4.0", { addedAt: 1 }));
    });

    test("a release of which a piece is missing, or has other bytes, is not added", async () => {
      await using store = await harness.open();
      const { agentReleases } = store;
      const content = someContent(PIECE_BYTES + 1);
      const layer = part(content);
      expect(await agentReleases.addRelease(release("1.5.0"), [layer])).toBe("incomplete");
      await agentReleases.addPiece(layer.digest, 0, content.subarray(0, PIECE_BYTES));
      expect(await agentReleases.addRelease(release("1.5.0"), [layer])).toBe("incomplete");
      // The second piece of an attempt that was interrupted, with another length.
      await agentReleases.addPiece(layer.digest, 1, Uint8Array.of(1, 2));
      expect(await agentReleases.addRelease(release("1.5.0"), [layer])).toBe("incomplete");
      expect(await agentReleases.listReleases()).toEqual([]);
      await agentReleases.addPiece(layer.digest, 1, content.subarray(PIECE_BYTES));
      expect(await agentReleases.addRelease(release("1.5.0"), [layer])).toBe("added");
      expect([...((await agentReleases.readPiece(layer.digest, 1)) ?? [])]).toEqual([content[PIECE_BYTES]]);
    });

    test("pieces of no release are removed, a few at a time, and those of others stay", async () => {
      await using store = await harness.open();
      const { agentReleases } = store;
      const shared = await addPieces(store, someContent(3 * PIECE_BYTES, 1));
      const own = await addPieces(store, someContent(2 * PIECE_BYTES, 2));
      await agentReleases.addRelease(release("1.5.0"), [shared, own]);
      await agentReleases.addRelease(release("1.6.0"), [shared]);
      expect(await agentReleases.removeUnusedPieces(10)).toBe(0);
      expect(await agentReleases.removeRelease("1.5.0")).toBe(true);
      expect(await agentReleases.removeRelease("1.5.0")).toBe(false);
      expect(await agentReleases.findPart(own.digest)).toBeUndefined();
      expect(await agentReleases.findPart(shared.digest)).toEqual(shared);
      expect(await agentReleases.removeUnusedPieces(1)).toBe(1);
      expect(await agentReleases.removeUnusedPieces(10)).toBe(1);
      expect(await agentReleases.removeUnusedPieces(10)).toBe(0);
      expect(await agentReleases.readPiece(own.digest, 0)).toBeUndefined();
      expect(await agentReleases.readPiece(shared.digest, 2)).toBeDefined();
    });

    test("a release that is added while unused pieces are removed has all of its pieces, or is refused", async () => {
      await using store = await harness.open();
      const { agentReleases } = store;
      for (let round = 0; round < 6; round++) {
        const layer = await addPieces(store, someContent(2 * PIECE_BYTES, round));
        const [added] = await Promise.all([
          agentReleases.addRelease(release(`1.${round}.0`), [layer]),
          agentReleases.removeUnusedPieces(10),
        ]);
        const pieces = await Promise.all([0, 1].map((position) => agentReleases.readPiece(layer.digest, position)));
        expect(pieces.filter((piece) => piece !== undefined)).toHaveLength(added === "added" ? 2 : 0);
      }
    });

    test("their number is bounded", async () => {
      await using store = await harness.open();
      const { agentReleases } = store;
      const content = await addPieces(store, Buffer.from("one"));
      for (let number = 0; number < MAX_AGENT_RELEASES; number++)
        expect(await agentReleases.addRelease(release(`1.${number}.0`), [content])).toBe("added");
      expect(await agentReleases.addRelease(release("2.0.0"), [content])).toBe("too_many");
      await agentReleases.removeRelease("1.0.0");
      expect(await agentReleases.addRelease(release("2.0.0"), [content])).toBe("added");
    });

    test("what changes a release is in the audit log", async () => {
      await using store = await harness.open();
      const { agentReleases, audit } = store;
      const content = await addPieces(store, Buffer.from("one"));
      await agentReleases.addRelease(release("1.5.0"), [content], someAudit("agent_release.added", ""));
      await agentReleases.addRelease(release("1.5.0"), [content], someAudit("agent_release.added", ""));
      await agentReleases.removeRelease("1.5.0", someAudit("agent_release.removed", ""));
      await agentReleases.removeRelease("1.5.0", someAudit("agent_release.removed", ""));
      const actions = (await audit.listEntries("", 10)).map(({ action }) => action);
      expect(actions).toEqual(["agent_release.removed", "agent_release.added"]);
    });
  });
}
