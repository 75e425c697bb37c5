import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Command } from "../../../src/control-plane/core/command.ts";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { MAX_UPLOADS, MAX_UPLOADS_BYTES, type UploadKey } from "../../../src/control-plane/store/uploads.ts";
import type { Rollout } from "../../../src/control-plane/core/fleets/rollout.ts";
import { someFleet, someRevision, someRollout, someRolloutEvent } from "../../support/control-plane/fleets.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { receivedDeployment, T0 } from "../../support/deployment-record.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";
import { ACCOUNT, describeDomain, openWithAccounts, type StoreHarness } from "./harness.ts";

const NOW = 5_000_000_000;
const OTHER = "acc_2";
const PIECE = 100;
const audit = someAudit("upload.added");

const keyOf = (content: Uint8Array, accountId = ACCOUNT): UploadKey => ({
  accountId,
  sha256: createHash("sha256").update(content).digest("hex"),
});

const someContent = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_value, index) => (index * 7 + seed) % 256);

/** Stores content in pieces of `PIECE` bytes. */
async function addAll({ uploads }: Store, content: Uint8Array, key = keyOf(content), at = NOW): Promise<UploadKey> {
  for (let position = 0; position * PIECE < content.length; position++) {
    const piece = content.subarray(position * PIECE, (position + 1) * PIECE);
    expect(await uploads.addPiece(key, { bytes: content.length, position, content: piece }, at)).toBe("added");
  }
  expect(await uploads.completeUpload(key, at, audit)).toBe(true);
  return key;
}

/** Stores a deployment of an asset whose command names the upload. */
async function deploy(store: Store, id: string, assetUuid: string, sha256: string): Promise<void> {
  await deployWith(store, id, assetUuid, {
    files: [{ target: "/a", sha256: "0".repeat(64), upload: { sha256, bytes: 1, size: 1 } }],
  });
}

async function deployWith(store: Store, id: string, assetUuid: string, more: object): Promise<void> {
  const rights = { host_network: false, privileged: false };
  const spec = { name: "web", image: "web:1", ...rights, environments: [], ports: [], volumes: [], ...more };
  const command: Command = { action: "deploy", spec };
  const { lastEvent, ...deployment } = receivedDeployment({ id, assetUuid, accountId: ACCOUNT, command });
  const first = { ...lastEvent!, deployment_id: id };
  const stored = { ...deployment, lastSeq: 0, lastEvent: undefined };
  expect(await createDeployment(store.deployments, stored, first)).toMatchObject({ kind: "created" });
}

const leaveOthers = () => ({ fields: {} });

async function addRollout(store: Store, rollout: Rollout): Promise<void> {
  expect(await store.rollouts.createRollout(rollout, [], someRolloutEvent(rollout), leaveOthers)).toBe(true);
}

const end = (store: Store, id: string) =>
  updateDeployment(store.deployments, id, (current) => fail(current, T0 + 1, "DeploymentTimeout"));

/** Contract of stores for uploads. */
export function uploadsContract(harness: StoreHarness): void {
  describeDomain("uploads", harness, () => {
    test("an upload is complete with all of its pieces, in any order, and has their bytes", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      const content = someContent(2 * PIECE + 5);
      const key = keyOf(content);
      const add = (position: number) => {
        const piece = content.subarray(position * PIECE, (position + 1) * PIECE);
        return uploads.addPiece(key, { bytes: content.length, position, content: piece }, NOW);
      };
      expect(await uploads.findUpload(key)).toBeUndefined();
      expect(await add(2)).toBe("added");
      expect(await uploads.completeUpload(key, NOW)).toBe(false);
      expect(await add(0)).toBe("added");
      // Sent again, it counts once and stays as it is.
      expect(
        await uploads.addPiece(key, { bytes: content.length, position: 0, content: someContent(PIECE, 9) }, NOW),
      ).toBe("added");
      expect(await uploads.findUpload(key)).toEqual({
        ...key,
        bytes: content.length,
        receivedBytes: PIECE + 5,
        isComplete: false,
        usedAt: NOW,
      });
      expect(await add(1)).toBe("added");
      expect(await uploads.completeUpload(key, NOW + 1, audit)).toBe(true);
      expect(await uploads.completeUpload(key, NOW + 1, audit)).toBe(true);
      expect(await uploads.findUpload(key)).toMatchObject({
        receivedBytes: content.length,
        isComplete: true,
        usedAt: NOW + 1,
      });
      const pieces = await Promise.all([0, 1, 2].map((position) => uploads.readPiece(key, position)));
      expect(Buffer.concat(pieces as Uint8Array[]).equals(content)).toBe(true);
      expect(await uploads.readPiece(key, 3)).toBeUndefined();
      const actions = (await store.audit.listEntries(ACCOUNT, 10)).map(({ action }) => action);
      expect(actions).toEqual(["upload.added"]);
    });

    test("another number of bytes is another upload, and one that is not complete can be removed", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      const key = keyOf(Buffer.from("x"));
      const piece = { bytes: 2, position: 0, content: Buffer.from("x") };
      expect(await uploads.addPiece(key, piece, NOW)).toBe("added");
      expect(await uploads.addPiece(key, { ...piece, bytes: 3 }, NOW)).toBe("other_size");
      await uploads.removeIncomplete(key);
      expect(await uploads.findUpload(key)).toBeUndefined();
      const complete = await addAll(store, Buffer.from("y"));
      await uploads.removeIncomplete(complete);
      expect(await uploads.findUpload(complete)).toMatchObject({ isComplete: true });
    });

    test("accounts know nothing of each other's uploads, also of the same bytes", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      const content = someContent(PIECE);
      const key = await addAll(store, content);
      const other = keyOf(content, OTHER);
      expect([await uploads.findUpload(other), await uploads.readPiece(other, 0)]).toEqual([undefined, undefined]);
      expect(await uploads.listUploads(OTHER)).toEqual([]);
      expect(await uploads.useUpload(other, content.length, NOW)).toBe(false);
      expect(await uploads.completeUpload(other, NOW)).toBe(false);
      await addAll(store, content, other);
      expect(await uploads.removeUnused(NOW + 1, 10, OTHER)).toBe(1);
      expect(await uploads.removeUnusedPieces(10)).toBe(1);
      expect(await uploads.readPiece(key, 0)).toBeDefined();
    });

    test("one is used by its bytes, and listed by its use", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      const [one, two] = [await addAll(store, Buffer.from("one")), await addAll(store, Buffer.from("other"))];
      expect(await uploads.useUpload(one, 3, NOW + 5)).toBe(true);
      expect(await uploads.useUpload(two, 3, NOW + 9)).toBe(false);
      const listed = await uploads.listUploads(ACCOUNT);
      expect(listed.map(({ sha256, usedAt }) => [sha256, usedAt])).toEqual([
        [one.sha256, NOW + 5],
        [two.sha256, NOW],
      ]);
      const incomplete = keyOf(Buffer.from("zz"));
      await uploads.addPiece(incomplete, { bytes: 2, position: 0, content: Buffer.from("z") }, NOW);
      expect(await uploads.useUpload(incomplete, 2, NOW)).toBe(false);
    });

    test("a device finds what an unfinished deployment of its own names", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      const key = await addAll(store, Buffer.from("one"));
      const unnamed = await addAll(store, Buffer.from("two"));
      expect(await uploads.findForAsset(key, "uuid-1")).toBeUndefined();
      await deploy(store, "dep_1", "uuid-1", key.sha256);
      expect(await uploads.findForAsset(key, "uuid-1")).toEqual(await uploads.findUpload(key));
      expect(await uploads.findForAsset(unnamed, "uuid-1")).toBeUndefined();
      expect(await uploads.findForAsset(key, "uuid-2")).toBeUndefined();
      // The other account has the same bytes; the deployment is not of that account.
      const other = await addAll(store, Buffer.from("one"), keyOf(Buffer.from("one"), OTHER));
      expect(await uploads.findForAsset(other, "uuid-1")).toBeUndefined();
      await end(store, "dep_1");
      expect(await uploads.findForAsset(key, "uuid-1")).toBeUndefined();
    });

    test("a hash that a command has elsewhere names no upload", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      const key = await addAll(store, Buffer.from("one"));
      await deployWith(store, "dep_1", "uuid-1", { environments: [{ key: "HASH", value: key.sha256 }] });
      expect(await uploads.findForAsset(key, "uuid-1")).toBeUndefined();
      expect(await uploads.removeUnused(NOW + 1, 10)).toBe(1);
    });

    test("what a deployment or a revision needs stays, however old it is, and goes when they have", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads, fleets } = store;
      const [deployed, rolled, unused, young] = [
        await addAll(store, Buffer.from("deployed")),
        await addAll(store, Buffer.from("rolled")),
        await addAll(store, Buffer.from("unused")),
        await addAll(store, Buffer.from("young"), undefined, NOW + 10),
      ];
      await deploy(store, "dep_1", "uuid-1", deployed.sha256);
      const fleet = someFleet();
      await fleets.createFleet(fleet, someAudit("fleet.created"));
      const revision = { ...someRevision(fleet, 1), uploads: [rolled.sha256] };
      const made = await fleets.createRevision(
        fleet.id,
        revision.revision,
        () => revision,
        someAudit("revision.created"),
      );
      expect(made.kind).toBe("created");
      const kept = async () => new Set((await uploads.listUploads(ACCOUNT)).map(({ sha256 }) => sha256));
      expect(await uploads.removeUnused(NOW + 10, 10)).toBe(1);
      expect(await kept()).toEqual(new Set([deployed, rolled, young].map(({ sha256 }) => sha256)));
      expect(await uploads.findUpload(unused)).toBeUndefined();
      await end(store, "dep_1");
      await fleets.removeFleet(fleet.id, someAudit("fleet.removed"));
      expect(await uploads.removeUnused(NOW + 10, 1)).toBe(1);
      expect(await uploads.removeUnused(NOW + 10, 1)).toBe(1);
      expect(await uploads.removeUnused(NOW + 10, 1)).toBe(0);
      expect(await kept()).toEqual(new Set([young.sha256]));
      expect(await uploads.removeUnusedPieces(2)).toBe(2);
      expect(await uploads.removeUnusedPieces(2)).toBe(1);
      expect(await uploads.readPiece(young, 0)).toBeDefined();
    });

    test("those of revisions that are not in use give way, the last used at the end; what holds the others is said", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads, fleets } = store;
      const fleet = someFleet();
      await fleets.createFleet(fleet, someAudit("fleet.created"));
      const keys = await Promise.all(
        [1, 2, 3, 4, 5, 6, 7].map((number) =>
          // The second one was used before the first.
          addAll(store, someContent(10 * number, number), undefined, number === 2 ? NOW - 5 : NOW + number),
        ),
      );
      const hashOf = (number: number): string => keys[number - 1]!.sha256;
      for (let number = 1; number <= 7; number++) {
        const stored = { ...someRevision(fleet, number), uploads: [hashOf(number)] };
        await fleets.createRevision(fleet.id, stored.revision, () => stored, someAudit("revision.created"));
      }
      // Stable: 3. The newest rollout is over and has brought 4, after 3; an older one is over, too.
      await fleets.updateFleet(fleet.id, (current) => ({ ...current, stableRevision: 3 }));
      const over = { state: "succeeded", isActive: false, finishedAtMs: 1 } as const;
      await addRollout(store, someRollout(fleet, { ...over, revision: 1 }));
      await addRollout(store, someRollout(fleet, { ...over, revision: 5, previousRevision: 4 }));
      const kept = async () => {
        const listed = new Set((await uploads.listUploads(ACCOUNT)).map(({ sha256 }) => sha256));
        return [1, 2, 3, 4, 5, 6, 7].filter((number) => listed.has(hashOf(number)));
      };
      const later = NOW + 100;
      // A revision keeps its uploads as long as nobody needs the room.
      expect(await uploads.removeUnused(later, 10)).toBe(0);
      expect(await uploads.removeIdle(later, OTHER)).toBe(false);
      expect(await uploads.removeIdle(NOW - 5, ACCOUNT)).toBe(false);
      const left: number[][] = [];
      while (await uploads.removeIdle(later, ACCOUNT)) left.push(await kept());
      // The newest one, the stable one, and what the newest rollout may go back to.
      expect(left).toEqual([
        [1, 3, 4, 5, 6, 7],
        [3, 4, 5, 6, 7],
        [3, 4, 6, 7],
        [3, 4, 7],
      ]);
      // One under way holds what it brings, too.
      await deploy(store, "dep_1", "uuid-1", hashOf(4));
      expect(await uploads.findHolders(ACCOUNT, NOW + 7, 2)).toEqual({
        revisions: [
          { fleet: fleet.name, revision: 7, bytes: 70 },
          { fleet: fleet.name, revision: 4, bytes: 40 },
        ],
        deployments: 40,
        recent: 70,
      });
      expect(await uploads.findHolders(OTHER, NOW, 2)).toEqual({ revisions: [], deployments: 0, recent: 0 });
      expect([
        await uploads.useOfRevision(fleet.id, 3, later),
        await uploads.useOfRevision(fleet.id, 5, later),
      ]).toEqual([true, false]);
      expect((await uploads.findUpload(keys[2]!))?.usedAt).toBe(later);
      expect((await uploads.findUpload(keys[6]!))?.usedAt).toBe(NOW + 7);
    });

    test("what a rollout under way brings, or goes back to, gives way to nothing", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads, fleets } = store;
      const fleet = someFleet();
      await fleets.createFleet(fleet, someAudit("fleet.created"));
      for (let number = 1; number <= 4; number++) {
        const { sha256 } = await addAll(store, someContent(10 * number, number));
        const stored = { ...someRevision(fleet, number), uploads: [sha256] };
        await fleets.createRevision(fleet.id, stored.revision, () => stored, someAudit("revision.created"));
      }
      await addRollout(store, someRollout(fleet, { revision: 2, previousRevision: 1 }));
      const over = { state: "cancelled", isActive: false, finishedAtMs: 1 } as const;
      await addRollout(store, someRollout(fleet, { ...over, revision: 3 }));
      expect([await uploads.removeIdle(NOW + 1, ACCOUNT), await uploads.removeIdle(NOW + 1, ACCOUNT)]).toEqual([
        true,
        false,
      ]);
      expect(await uploads.listUploads(ACCOUNT)).toHaveLength(3);
    });

    test("their number and their bytes are bounded for an account, also when they begin at the same time", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      const begin = (name: string, bytes: number, accountId = ACCOUNT) =>
        uploads.addPiece(keyOf(Buffer.from(name), accountId), { bytes, position: 0, content: Buffer.from("x") }, NOW);
      expect(await begin("large", MAX_UPLOADS_BYTES - 1_000)).toBe("added");
      expect(await begin("too large", 1_001)).toBe("too_many");
      for (let number = 2; number < MAX_UPLOADS; number++) expect(await begin(`${number}`, 1)).toBe("added");
      const last = await Promise.all(["a", "b", "c"].map((name) => begin(name, 1)));
      expect(last.toSorted()).toEqual(["added", "too_many", "too_many"]);
      expect(await begin("large", MAX_UPLOADS_BYTES - 1_000)).toBe("added");
      expect(await begin("other account", MAX_UPLOADS_BYTES, OTHER)).toBe("added");
    });

    test("an upload that is completed while pieces are removed has all of them, or is not complete", async () => {
      await using store = await openWithAccounts(harness);
      const { uploads } = store;
      for (let round = 0; round < 6; round++) {
        const content = someContent(PIECE, round);
        const key = keyOf(content);
        const piece = { bytes: PIECE, position: 0, content };
        await uploads.addPiece(key, piece, NOW);
        await uploads.removeIncomplete(key);
        const [isComplete] = await Promise.all([
          uploads.addPiece(key, piece, NOW).then(() => uploads.completeUpload(key, NOW)),
          uploads.removeUnusedPieces(10),
        ]);
        expect((await uploads.readPiece(key, 0)) !== undefined).toBe(isComplete);
      }
    });
  });
}
