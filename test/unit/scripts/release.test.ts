import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSigningKey, trustedKeys, warnOfNoKey } from "../../../scripts/packaging/release-key.ts";
import { writeReleaseLayout } from "../../../scripts/packaging/release-layout.ts";
import { layoutReader, readParts } from "../../../src/agent/updates/handover.ts";
import { readRelease } from "../../../src/lib/release/read-release.ts";
import { verifiedStatement } from "../../../src/lib/release/statement.ts";
import { tempDir } from "../../support/temp-dir.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const IMAGES = ["amd64", "arm64"].map((architecture) => ({
  architecture,
  layers: ["runtime", architecture].map((name, at) => ({
    archive: Buffer.from(name),
    diffId: `sha256:${String(at).repeat(64)}`,
    unpackedBytes: 5,
  })),
}));
const CONTENT = {
  version: "1.2.3",
  floor: "1.0.0",
  oldestProtocol: 2,
  signedAt: "2026-11-28T00:00:00.000Z",
  images: IMAGES,
  keys: [publicKey],
};

describe("a release as `npm run package` writes it", () => {
  const owned = new AsyncDisposableStack();
  let folder: string;
  beforeAll(async () => {
    folder = owned.use(await tempDir()).path;
  });
  afterAll(() => owned.disposeAsync());

  const write = async (name: string): Promise<string> => {
    await mkdir(join(folder, name));
    await writeReleaseLayout(join(folder, name), { ...CONTENT, key: privateKey });
    return join(folder, name);
  };

  it("is the same, byte for byte, with its signature", async () => {
    const [one, other] = [await write("one"), await write("other")];
    const blobs = await readdir(join(one, "blobs/sha256"));
    // Two images of three parts, the layer that they share, the index, and the signature of three parts.
    expect(blobs).toHaveLength(11);
    expect(await readdir(join(other, "blobs/sha256"))).toEqual(blobs);
    for (const name of ["index.json", "oci-layout"])
      expect(await readFile(join(other, name))).toEqual(await readFile(join(one, name)));
  });

  it("is an OCI layout with an index over both architectures, and a signature that refers to it", async () => {
    const layout = await write("read");
    const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8")) as { manifests: { digest: string }[] };
    const blob = async (digest = ""): Promise<unknown> =>
      JSON.parse(await readFile(join(layout, "blobs", ...digest.split(":")), "utf8")) as unknown;
    const [image, signature] = index.manifests;
    expect(await blob(image?.digest)).toMatchObject({
      manifests: [
        { platform: { architecture: "amd64", os: "linux" } },
        { platform: { architecture: "arm64", os: "linux" } },
      ],
    });
    expect(await blob(signature?.digest)).toMatchObject({ subject: { digest: image?.digest } });
    const files = new Map<string, Buffer>();
    for (const path of await readdir(layout, { recursive: true }))
      files.set(path, await readFile(join(layout, path)).catch(() => Buffer.alloc(0)));
    const release = readRelease(
      (path) => files.get(path.join("/")) ?? Buffer.alloc(0),
      (envelope) => verifiedStatement(envelope, [publicKey]),
      "arm64",
    );
    expect(release).toMatchObject({
      statement: { version: "1.2.3", floor: "1.0.0", oldestProtocol: 2, index: image?.digest },
      layers: [0, 1].map((at) => ({ diffId: `sha256:${String(at).repeat(64)}`, unpackedBytes: 5 })),
    });
    // Only what this architecture needs is copied to a device.
    expect(readParts(layoutReader(layout), "arm64")).toHaveLength(8);
  });

  it("only an Ed25519 key signs, and packages trust the one that does", async () => {
    const path = join(folder, "key.pem");
    await writeFile(path, privateKey.export({ type: "pkcs8", format: "pem" }));
    expect(await trustedKeys(await readSigningKey(path))).toEqual([expect.objectContaining({ type: "public" })]);
    expect((await trustedKeys(privateKey))[0]?.equals(createPublicKey(privateKey))).toBe(true);
    expect(await trustedKeys(undefined)).toEqual([]);
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    await writeFile(path, other.export({ type: "pkcs8", format: "pem" }));
    await expect(readSigningKey(path)).rejects.toThrow("not an Ed25519 key");
  });

  it("packages without a key are warned of in one line, which says where to make one", async () => {
    const warning = warnOfNoKey(await trustedKeys(undefined));
    expect(warning).toMatch(/^WARNING: .*trust no key.*docs\/agent-updates\.md, "Making and signing a release"\.$/);
    expect(await readFile("docs/agent-updates.md", "utf8")).toMatch(/^## Making and signing a release$/m);
    expect(warnOfNoKey(await trustedKeys(privateKey))).toBeUndefined();
  });
});
