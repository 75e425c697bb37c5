import { execFileSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { layoutReader, readParts } from "../../../src/agent/updates/handover.ts";
import { digestOf } from "../../../src/lib/release/read-release.ts";
import type { ReleaseErrorCode } from "../../../src/lib/release/release-error.ts";
import { Releases } from "../../../src/updater/releases.ts";
import { tarOf, type TarEntry } from "../../support/updates/raw-tar.ts";
import { RUNTIME, UNFLUSHED, UpdateRig } from "../../support/updates/update-rig.ts";

const GOOD: readonly TarEntry[] = [
  { path: "edge-agent", mode: 0o755, content: "a" },
  { path: "node", mode: 0o755, content: "b" },
];
const NEXT = "1.1.0";

/* What a release consists of, and what it brings: layers that the device may have, and keys. See hostile-releases for the rest. */
describe("layers and keys of a release", () => {
  let rig: UpdateRig;
  beforeEach(async () => {
    rig = await UpdateRig.create();
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const hand = async (...args: Parameters<UpdateRig["release"]>): Promise<string> => {
    rig.handOver(await rig.release(...args));
    return rig.path("state/agent-update/layout");
  };
  const expectRefused = async (code: ReleaseErrorCode): Promise<void> => {
    expect(await rig.handle()).toMatchObject({ ok: false, code });
    expect(readdirSync(rig.path("releases")).filter((name) => name !== "answer.json")).toEqual([]);
    expect(await rig.running()).toBe("package");
  };

  it("refuses an archive that is not what the configuration says of it, by which it would be taken for another", async () => {
    await hand(NEXT, { layer: zstdCompressSync(tarOf(GOOD)) });
    await expectRefused("unsafe_content");
    await hand(NEXT, { entries: GOOD, layer: zstdCompressSync(tarOf([...GOOD].toReversed())) });
    await expectRefused("digest_mismatch");
  });

  it("refuses two layers that have a file of one name", async () => {
    await hand(NEXT, { layers: [GOOD, [{ path: "node", mode: 0o755, content: "c" }]] });
    await expectRefused("unsafe_content");
  });

  const inode = (...names: readonly string[]): number => lstatSync(rig.path(...names)).ino;

  it("trusts the keys that came with the version confirmed last, and not those of one on trial", async () => {
    const [next, foreign] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    // Signed by the package's key, and bringing another one in its place.
    expect(await rig.install(NEXT, { keys: [next.publicKey] })).toMatchObject({ ok: true });
    expect(await rig.install("1.2.0", { key: next.privateKey })).toMatchObject({ code: "untrusted_key" });
    await rig.start();
    expect(await rig.confirm(NEXT)).toMatchObject({ ok: true });
    for (const key of [rig.key, foreign.privateKey])
      expect(await rig.install("1.2.0", { key })).toMatchObject({ code: "untrusted_key" });
    expect(await rig.install("1.2.0", { key: next.privateKey, keys: [next.publicKey] })).toMatchObject({ ok: true });
    await rig.start();
    expect(await rig.confirm("1.2.0")).toMatchObject({ ok: true });
    // A newer package brings its own.
    new Releases(rig.path("releases"), UNFLUSHED).preferPackage("1.3.0");
    expect(await rig.install("1.4.0", { key: next.privateKey })).toMatchObject({ code: "untrusted_key" });
    expect(await rig.install("1.4.0")).toMatchObject({ ok: true });
  });

  it.each<[string, KeyObject[]]>([
    ["no key, after which no release could follow", []],
    ["more keys than a device takes", Array<KeyObject>(17).fill(generateKeyPairSync("ed25519").publicKey)],
    ["a key twice", Array<KeyObject>(2).fill(generateKeyPairSync("ed25519").publicKey)],
    ["a key of another kind", [generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey]],
  ])("refuses one that brings %s", async (_what, keys) => {
    await hand(NEXT, { keys });
    await expectRefused("malformed");
  });

  it("takes a layer from the package, as a copy, and from another release, as the same files", async () => {
    for (const version of [NEXT, "1.2.0"]) {
      removeRuntime(await hand(version));
      expect(await rig.handle()).toMatchObject({ ok: true });
      await rig.start();
      expect(await rig.confirm(version)).toMatchObject({ ok: true });
    }
    for (const name of ["node", "lib/library.so.1"]) {
      expect(inode("releases", "1.2.0", name)).toBe(inode("releases", NEXT, name));
      expect(inode("releases", NEXT, name)).not.toBe(inode("package", name));
      expect(lstatSync(rig.path("releases", NEXT, name)).mode & 0o777).toBe(name === "node" ? 0o755 : 0o644);
    }
    expect(inode("releases", "1.2.0", "edge-agent")).not.toBe(inode("releases", NEXT, "edge-agent"));
  });

  it("takes nothing that is not what it was: not a file that has changed, is gone, or is a link", async () => {
    const library = rig.path("package/lib/library.so.1");
    const changes: (() => void)[] = [
      () => writeFileSync(library, "librarY"),
      () => rmSync(library),
      () => symlinkSync(rig.path("package/node"), library),
      () => writeFileSync(rig.path("package/layers.json"), "{"),
    ];
    for (const change of changes) {
      change();
      removeRuntime(await hand(NEXT));
      await expectRefused("incomplete");
    }
    await hand(NEXT);
    expect(await rig.handle()).toMatchObject({ ok: true });
    expect(readFileSync(rig.path("releases", NEXT, "lib/library.so.1"), "utf8")).toBe("library");
  });

  it("a person's command copies what a release consists of, and no file that a link in its folder leads to", async () => {
    const layout = await rig.release(NEXT);
    expect(readParts(layoutReader(layout), "amd64").map(({ path }) => path.join("/"))).toContain("index.json");
    const secret = rig.path("secret");
    writeFileSync(secret, "root's own");
    for (const name of readdirSync(join(layout, "blobs/sha256"))) {
      const path = join(layout, "blobs/sha256", name);
      const own = readFileSync(path);
      rmSync(path);
      symlinkSync(secret, path);
      // Of what this machine does not need nothing is read.
      const parts = tried(() => readParts(layoutReader(layout), "amd64"));
      expect(JSON.stringify(parts?.map(({ content }) => Buffer.from(content).toString()) ?? [])).not.toContain("own");
      rmSync(path);
      writeFileSync(path, own);
    }
    rmSync(join(layout, "index.json"));
    execFileSync("mkfifo", [join(layout, "index.json")]);
    expect(() => readParts(layoutReader(layout), "amd64")).toThrow("not a plain file");
  });

  it.each(["release.json", "layers.json", "release-keys/x.pem"])(
    "refuses an archive with %s, which is the updater's to write",
    async (path) => {
      const folder: TarEntry[] = path.includes("/") ? [{ path: "release-keys/", type: "5", mode: 0o755 }] : [];
      await hand(NEXT, { entries: [...GOOD, ...folder, { path, content: "x" }] });
      await expectRefused("unsafe_content");
    },
  );

  it("refuses a layer twice, and one that has a name of another that the device has", async () => {
    await hand(NEXT, { layers: [GOOD, GOOD] });
    await expectRefused("malformed");
    await hand(NEXT, { layers: [GOOD, RUNTIME] });
    await expectRefused("unsafe_content");
  });
});

function tried<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function removeRuntime(layout: string): void {
  rmSync(join(layout, "blobs", ...digestOf(zstdCompressSync(tarOf(RUNTIME))).split(":")));
}
