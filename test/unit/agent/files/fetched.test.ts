import { lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { writeDirectoryArchive } from "../../../../src/lib/directory-archive.ts";
import { deployed, newUploadRig, onDisk, POLICY, reconcilerOf, sourceOf } from "../../../support/uploads/upload-rig.ts";
import { noise, someUpload } from "../../../support/uploads/upload.ts";

const signal = new AbortController().signal;

describe("a content that was fetched", () => {
  const archive = writeDirectoryArchive([
    { path: "maps/a.bin", mode: 0o444, content: noise(150_000) },
    { path: "maps/empty", mode: 0o444, content: Buffer.alloc(0) },
  ]);
  const maps = someUpload(archive, "/maps");
  const directory = { ...maps.file, directory: true };

  it("lies on disk compressed, once, however many have it, and goes with the last that names it", async () => {
    const rig = await newUploadRig();
    const other = someUpload(noise(5_000, "other"), "/other");
    for (const upload of [maps, other]) rig.uploads.add(upload);
    await deployed(rig, "d1", "one", [directory]);
    await deployed(rig, "d2", "two", [directory, other.file]);
    const names = [`${maps.file.sha256}.${archive.length}.tar`, `${other.file.sha256}.5000.bin`];
    expect(onDisk(rig)).toEqual(names.toSorted());
    expect(lstatSync(join(rig.stateDir, "uploads", names[0]!)).size).toBe(maps.packed.length);
    // The place has the files alone.
    expect(readdirSync(join(sourceOf(rig, "one"), ".."))).toEqual(["0.d"]);
    rig.deployments.change("d3", { action: "update", app: "two", spec: { files: [{ target: "/x", content: "x" }] } });
    expect(await rig.untilEnd("d3")).toMatchObject({ status: "Success" });
    rig.deployments.change("d4", { action: "remove", app: "one" });
    expect(await rig.untilEnd("d4")).toMatchObject({ status: "Success" });
    // A success that was not reported may be undone.
    expect(onDisk(rig)).toHaveLength(2);
    for (const id of ["d1", "d2", "d3", "d4"]) rig.store.acknowledge(id, 10_000);
    await reconcilerOf(rig, false).reconcile(signal);
    expect(onDisk(rig)).toEqual([]);
  });

  it("stays by its hash, or where it is not mentioned, but is no secret and no plain file", async () => {
    const rig = await newUploadRig();
    const file = someUpload(noise(5_000));
    for (const upload of [maps, file]) rig.uploads.add(upload);
    await deployed(rig, "d1", "app", [file.file, directory]);
    const kept = { target: "/data/map" };
    const update = async (id: string, ...files: readonly object[]) => {
      rig.deployments.change(id, { action: "update", app: "app", spec: { files } });
      return await rig.untilEnd(id);
    };
    expect(
      await update("d2", { ...kept, mode: "0400" }, { target: "/maps", directory: true, sha256: directory.sha256 }),
    ).toMatchObject({
      message: expect.not.stringContaining("Nothing to change") as string,
      status: "Success",
    });
    expect(rig.store.apps()[0]?.spec.files).toMatchObject([{ size: 5_000, mode: "0400" }, { directory: true }]);
    expect(lstatSync(sourceOf(rig, "app")).mode & 0o777).toBe(0o400);
    expect(await update("d3", { ...kept, secret: true })).toMatchObject({
      details: { issues: [{ path: "files[0].secret" }] },
    });
    expect(await update("d4", { ...kept, sha256: file.file.sha256, directory: true })).toMatchObject({
      details: { issues: [{ path: "files[0].content", reason: "is not the archive of a directory" }] },
    });
    expect(rig.uploads.fetched).toHaveLength(2);
  });

  it("is mounted again from disk after its place is gone, also by an agent that lost its store", async () => {
    const rig = await newUploadRig();
    rig.uploads.add(maps);
    await deployed(rig, "d1", "app", [directory]);
    const { spec } = rig.store.apps()[0]!;
    rig.store.acknowledge("d1", 10_000);
    rig.store.save({ removedApp: "app" });
    await reconcilerOf(rig, true).reconcile(signal);
    expect(rig.store.apps()[0]?.spec).toEqual(spec);
    rmSync(join(rig.stateDir, "files"), { recursive: true });
    await rig.engine.removeContainer(rig.engine.container("app")!.id, signal);
    await reconcilerOf(rig, false).reconcile(signal);
    expect(readFileSync(join(sourceOf(rig, "app"), "maps/a.bin")).equals(noise(150_000))).toBe(true);
    expect(rig.uploads.fetched).toHaveLength(1);
  });

  it.each([
    ["cut off", (packed: Buffer) => packed.subarray(0, 1_000)],
    ["another one", () => gzipSync(writeDirectoryArchive([{ path: "b", mode: 0o444, content: Buffer.from("b") }]))],
    ["no archive", (packed: Buffer) => gzipSync(packed)],
  ])("that is %s on disk is never mounted, and fetched again by the next deployment", async (_what, damage) => {
    const rig = await newUploadRig();
    rig.uploads.add(maps);
    await deployed(rig, "d1", "app", [directory]);
    writeFileSync(join(rig.stateDir, "uploads", onDisk(rig)[0]!), damage(maps.packed));
    const refused = await deployed(rig, "d2", "other", [directory]);
    expect(refused).toMatchObject({ code: "FilesNotPlaced", message: expect.stringContaining("damaged") as string });
    expect([onDisk(rig), rig.engine.container("other")]).toEqual([[], undefined]);
    expect(await deployed(rig, "d3", "other", [directory])).toMatchObject({ status: "Success" });
    expect(rig.uploads.fetched).toHaveLength(2);
  });

  const zeros = someUpload(Buffer.alloc(17 * 1024 * 1024), "/zeros");

  it("may be larger than a request, but for one that the engine is given for its owner", async () => {
    const rig = await newUploadRig({ policy: { ...POLICY, max_files_bytes: 1024 ** 3 } });
    rig.uploads.add(zeros);
    expect(await deployed(rig, "d1", "app", [zeros.file])).toMatchObject({ status: "Success" });
    expect(lstatSync(sourceOf(rig, "app")).size).toBe(zeros.content.length);
    const owned = { ...zeros.file, owner: "7:7" };
    const tooLarge = { code: "InvalidRequest", message: expect.stringContaining("16777216") as string };
    expect(await deployed(rig, "d2", "other", [owned])).toMatchObject(tooLarge);
    rig.deployments.change("d3", {
      action: "update",
      app: "app",
      spec: { files: [{ target: "/zeros", owner: "7:7" }] },
    });
    expect(await rig.untilEnd("d3")).toMatchObject(tooLarge);
  });

  it("has no counterpart in a request: what that has is unpacked to 16 MiB, whatever the device takes", async () => {
    const rig = await newUploadRig({ policy: { ...POLICY, max_files_bytes: 1024 ** 3 } });
    // The last of two parts alone tells its size.
    const bomb = Buffer.concat([zeros.packed, gzipSync("")]).toString("base64");
    expect(await deployed(rig, "d1", "app", [{ target: "/zeros", content_gzip: bomb }])).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining("16777216") as string,
    });
  });

  it("needs disk space for all that it is on the way there, which a dry run says too", async () => {
    const rig = await newUploadRig();
    rig.uploads.add(maps);
    const needed = 16 * 1024 ** 2 + 2 * maps.packed.length + archive.length;
    rig.host.free = needed - 1;
    for (const [id, options] of [
      ["d1", { dry_run: true }],
      ["d2", {}],
    ] as const) {
      expect(await deployed(rig, id, "app", [directory], options)).toMatchObject({
        code: "InsufficientDisk",
        details: { needed_bytes: needed },
      });
    }
    rig.host.free = needed;
    expect(await deployed(rig, "d3", "app", [directory])).toMatchObject({ status: "Success" });
  });
});
