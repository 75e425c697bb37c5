import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { EdgeError } from "../../../../src/protocol/errors/errors.ts";
import { writeDirectoryArchive } from "../../../../src/lib/directory-archive.ts";
import { noise, sha256Of, someUpload } from "../../../support/uploads/upload.ts";
import {
  deployed,
  newUploadRig,
  onDisk,
  POLICY,
  reconcilerOf,
  sourceOf,
  UPLOAD_IMAGE,
} from "../../../support/uploads/upload-rig.ts";
import { waitFor } from "../../../support/wait-for.ts";

const IMAGE = UPLOAD_IMAGE;
const signal = new AbortController().signal;

describe("a file whose content is an upload", () => {
  it("is fetched, verified, placed, and reported like any other", async () => {
    const rig = await newUploadRig();
    const upload = someUpload(noise(40_000));
    rig.uploads.add(upload);
    expect(await deployed(rig, "d1", "app", [upload.file])).toMatchObject({ status: "Success" });
    expect(readFileSync(sourceOf(rig, "app")).equals(upload.content)).toBe(true);
    const { target, sha256 } = upload.file;
    expect(rig.store.apps()[0]?.spec.files).toEqual([{ target, size: 40_000, sha256, mode: "0444" }]);
    expect(rig.store.deployment("d1")?.fetches).toBeUndefined();
    expect(rig.ledger.bytes(({ purpose, deployment }) => purpose === "pulls" && deployment === "d1")).toBe(
      upload.packed.length,
    );
    const messages = rig.events("d1").map(({ message }) => message);
    expect(messages).toContain("Fetching files of the app from the service.");
    expect(messages).toContainEqual(expect.stringMatching(/^The files are on the device: .* were received/));
  });

  it("may be a directory", async () => {
    const rig = await newUploadRig();
    const archive = writeDirectoryArchive([{ path: "maps/a.bin", mode: 0o444, content: noise(30_000) }]);
    const upload = someUpload(archive, "/etc/app");
    rig.uploads.add(upload);
    expect(await deployed(rig, "d1", "app", [{ ...upload.file, directory: true }])).toMatchObject({
      status: "Success",
    });
    const source = sourceOf(rig, "app");
    expect(readdirSync(source)).toEqual(["maps"]);
    expect(lstatSync(join(source, "maps/a.bin")).size).toBe(30_000);
  });

  it("is fetched once, whatever app has it and wherever", async () => {
    const rig = await newUploadRig();
    const upload = someUpload(noise(20_000));
    rig.uploads.add(upload);
    await deployed(rig, "d1", "one", [upload.file]);
    expect(await deployed(rig, "d2", "two", [{ ...upload.file, target: "/other" }])).toMatchObject({
      status: "Success",
    });
    rig.deployments.change("d3", { action: "update", app: "one", spec: { files: [upload.file] } });
    expect(await rig.untilEnd("d3")).toMatchObject({ message: expect.stringContaining("Nothing to change") as string });
    const apps = ["three", "four"].map((name) => ({
      app: { name, image: IMAGE, pull: "missing", files: [upload.file] },
    }));
    rig.deployments.apply("g1", { project: "line", apps });
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success" });
    expect(rig.uploads.fetched).toEqual([upload.sha256]);
  });

  it("is fetched once for apps that wait for each other", async () => {
    const rig = await newUploadRig();
    rig.pullSlots = 1;
    await rig.restart();
    const [shared, own] = [someUpload(noise(20_000)), someUpload(noise(20_000, "own"), "/own")];
    for (const upload of [shared, own]) rig.uploads.add(upload);
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.uploads.hold = promise;
    const ids = ["one", "two", "three", "four"];
    for (const name of ids) {
      const files = name === "four" ? [shared.file, own.file] : [shared.file];
      rig.deployments.deploy(name, { name, image: IMAGE, files });
    }
    await waitFor("all to wait for the first one", () =>
      ids.slice(1).every((id) => rig.last(id)?.message === "Waiting for another download to finish."),
    );
    resolve();
    for (const id of ids) expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
    expect(rig.uploads.fetched).toEqual([shared.sha256, own.sha256]);
  });

  it("that another app has brought meanwhile has to be a directory where it is one", async () => {
    const rig = await newUploadRig();
    rig.pullSlots = 1;
    await rig.restart();
    const upload = someUpload(noise(20_000));
    rig.uploads.add(upload);
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.uploads.hold = promise;
    rig.deployments.deploy("d1", { name: "one", image: IMAGE, files: [upload.file] });
    await waitFor("the download to begin", () => rig.uploads.fetched.length === 1);
    rig.deployments.deploy("d2", { name: "two", image: IMAGE, files: [{ ...upload.file, directory: true }] });
    await waitFor("the other to wait", () => rig.last("d2")?.message.startsWith("Waiting for") === true);
    resolve();
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(await rig.untilEnd("d2")).toMatchObject({ code: "FilesNotPlaced" });
    expect(rig.uploads.fetched).toHaveLength(1);
  });

  it("is fetched once for the apps of one group, and counts once in its price", async () => {
    const rig = await newUploadRig();
    const upload = someUpload(noise(20_000));
    rig.uploads.add(upload);
    const apps = ["one", "two"].map((name) => ({ app: { name, image: IMAGE, pull: "missing", files: [upload.file] } }));
    rig.deployments.apply("g0", { project: "line", apps }, { dry_run: true });
    expect(await rig.untilEnd("g0")).toMatchObject({
      status: "Success",
      details: { download_bytes: upload.packed.length },
    });
    expect(rig.uploads.fetched).toEqual([]);
    rig.deployments.apply("g1", { project: "line", apps });
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success" });
    expect(rig.store.apps()).toHaveLength(2);
  });

  it("has its price in a dry run, and is not fetched by one", async () => {
    const rig = await newUploadRig();
    const upload = someUpload(noise(20_000));
    const event = await deployed(rig, "d1", "app", [upload.file], { dry_run: true });
    expect(event).toMatchObject({
      status: "Success",
      message: expect.stringContaining("for files that come with the app") as string,
      details: { dry_run: true, download_bytes: upload.packed.length, file_bytes: upload.packed.length },
    });
    expect(rig.uploads.fetched).toEqual([]);
  });

  it.each([
    ["the request", {}, { max_download_bytes: 19_999 }],
    ["the device", { maxDownloadBytes: 19_999 }, {}],
  ])("is not fetched above a limit of %s, also in a dry run", async (_whose, config, options) => {
    const rig = await newUploadRig(config);
    const upload = someUpload(noise(20_000));
    rig.uploads.add(upload);
    for (const dryRun of [{ dry_run: true }, {}]) {
      const event = await deployed(rig, `d ${JSON.stringify(dryRun)}`, "app", [upload.file], { ...options, ...dryRun });
      expect(event).toMatchObject({ code: "DataBudgetExceeded", details: { file_bytes: upload.packed.length } });
    }
    expect(rig.uploads.fetched).toEqual([]);
  });

  it("waits for the data budget, as an image does, before the first byte", async () => {
    const rig = await newUploadRig();
    const admitted: number[] = [];
    rig.gate = {
      rate: () => undefined,
      admit: async ({ bytes }) => {
        admitted.push(bytes);
        throw new EdgeError("DataBudgetExceeded", "never");
      },
    };
    await rig.restart();
    const upload = someUpload(noise(20_000));
    rig.uploads.add(upload);
    expect(await deployed(rig, "d1", "app", [upload.file])).toMatchObject({ code: "DataBudgetExceeded" });
    expect([admitted, rig.uploads.fetched]).toEqual([[upload.packed.length], []]);
  });

  it("is refused above the device's bound, by its unpacked bytes", async () => {
    const rig = await newUploadRig({ policy: { ...POLICY, max_files_bytes: 65_536 } });
    const upload = someUpload(Buffer.alloc(65_537));
    rig.uploads.add(upload);
    expect(await deployed(rig, "d1", "app", [upload.file])).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining("policy.max_files_bytes") as string,
    });
    expect(rig.uploads.fetched).toEqual([]);
  });

  const large = someUpload(Buffer.alloc(65_536));
  const { file: named } = large;
  it.each([
    ["another size", { ...named.upload, size: 0 }],
    ["another upload", { ...named.upload, sha256: "0".repeat(64) }],
    ["another size of the upload", { ...named.upload, bytes: named.upload.bytes + 1 }],
  ])("is refused if files with one hash have %s, in one app and in a group", async (_what, upload) => {
    const rig = await newUploadRig({ policy: { ...POLICY, max_files_bytes: 1024 * 1024 } });
    rig.uploads.add(large);
    const other = { ...named, target: "/other", upload };
    const refusal = {
      code: "InvalidRequest",
      message: expect.stringContaining("another file with the same `sha256` has") as string,
    };
    for (const [index, files] of [
      [other, named],
      [named, other],
    ].entries()) {
      expect(await deployed(rig, `d${index}`, "app", files)).toMatchObject(refusal);
      const apps = files.map((file, at) => ({ app: { name: `app-${at}`, image: IMAGE, files: [file] } }));
      rig.deployments.apply(`g${index}`, { project: "line", apps });
      expect(await rig.untilEnd(`g${index}`)).toMatchObject(refusal);
    }
    expect(rig.uploads.fetched).toEqual([]);
  });

  it("counts towards the device's bound as often as it is named", async () => {
    const rig = await newUploadRig({ policy: { ...POLICY, max_files_bytes: 131_072 } });
    rig.uploads.add(large);
    const files = ["/a", "/b", "/c"].map((target) => someUpload(large.content, target).file);
    expect(await deployed(rig, "d1", "app", files)).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining("policy.max_files_bytes") as string,
    });
    expect(await deployed(rig, "d2", "app", files.slice(1))).toMatchObject({ status: "Success" });
  });

  it("is not placed if what brought the content meanwhile shows that it has another size", async () => {
    const rig = await newUploadRig();
    const file = { ...named, upload: { ...named.upload, size: 0 } };
    // The content comes with another file of the request, as it might with another app.
    const files = [
      { ...file, target: "/a" },
      { target: "/b", content: large.content.toString() },
    ];
    expect(await deployed(rig, "d1", "app", files)).toMatchObject({ code: "FilesNotPlaced" });
    expect(rig.engine.container("app")).toBeUndefined();
  });

  it("needs its disk space in the state directory", async () => {
    const rig = await newUploadRig();
    rig.host.free = 15 * 1024 * 1024;
    const upload = someUpload(noise(20_000));
    rig.uploads.add(upload);
    expect(await deployed(rig, "d1", "app", [upload.file])).toMatchObject({ code: "InsufficientDisk" });
    expect(rig.uploads.fetched).toEqual([]);
  });

  it("is fetched after a kill in the middle, and not again after one behind it", async () => {
    const rig = await newUploadRig();
    const upload = someUpload(noise(20_000));
    rig.uploads.add(upload);
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.uploads.hold = promise;
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, files: [upload.file] });
    await waitFor("the download to begin", () => rig.uploads.fetched.length === 1);
    const restarted = rig.restart();
    resolve();
    await restarted;
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.uploads.fetched).toEqual([upload.sha256, upload.sha256]);
    await rig.restart("power cut");
    expect(rig.uploads.fetched).toHaveLength(2);
  });

  it("that the service does not have any more fails the deployment, and leaves the app as it was", async () => {
    const rig = await newUploadRig();
    await deployed(rig, "d1", "app", [{ target: "/data/map", content: "before" }]);
    rig.deployments.change("d2", { action: "update", app: "app", spec: { files: [someUpload(noise(100)).file] } });
    expect(await rig.untilEnd("d2")).toMatchObject({
      code: "FilesNotPlaced",
      message: expect.stringContaining("does not have them for this device any more") as string,
    });
    expect(readFileSync(sourceOf(rig, "app"), "utf8")).toBe("before");
  });

  it("that an app has as a file is no directory of another one", async () => {
    const rig = await newUploadRig();
    const upload = someUpload(noise(1_000));
    rig.uploads.add(upload);
    await deployed(rig, "d1", "one", [upload.file]);
    const file = { ...upload.file, target: "/maps", directory: true };
    expect(await deployed(rig, "d2", "two", [file])).toMatchObject({ code: "InvalidRequest" });
  });

  const content = noise(1_000);
  const good = someUpload(content);
  const other = someUpload(noise(1_000, "other"));
  it.each([
    ["of another content", { ...good.file, upload: other.file.upload }, other.packed],
    ["with more bytes than it says", { ...good.file, upload: { ...good.file.upload, size: 999 } }, good.packed],
    ["with fewer bytes than it says", { ...good.file, upload: { ...good.file.upload, size: 1_001 } }, good.packed],
    ["that is not gzip", uploadOf(content, content).file, content],
    ["that is cut off", uploadOf(content, good.packed.subarray(0, 500)).file, good.packed.subarray(0, 500)],
    [
      "that unpacks without end",
      { ...uploadOf(content, gzipSync(Buffer.alloc(50_000_000))).file },
      gzipSync(Buffer.alloc(50_000_000)),
    ],
    ["that is no archive of a directory", { ...good.file, directory: true }, good.packed],
  ])("%s is not placed", async (_what, file, packed) => {
    const rig = await newUploadRig();
    rig.uploads.add({ sha256: sha256Of(packed), packed });
    expect(await deployed(rig, "d1", "app", [file])).toMatchObject({ code: "FilesNotPlaced" });
    rig.store.acknowledge("d1", 10_000);
    await reconcilerOf(rig, false).reconcile(signal);
    expect(onDisk(rig)).toEqual([]);
    expect(rig.engine.container("app")).toBeUndefined();
  });
});

/** An upload of these bytes that claims to have the content. */
function uploadOf(content: Buffer, packed: Buffer) {
  const upload = { sha256: sha256Of(packed), bytes: packed.length, size: content.length };
  return { packed, file: { target: "/data/map", sha256: sha256Of(content), upload } };
}
