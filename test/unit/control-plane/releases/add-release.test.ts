import { generateKeyPairSync } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addRelease, removeRelease } from "../../../../src/control-plane/releases/add-release.ts";
import { readReleaseKeys } from "../../../../src/control-plane/releases/release-keys.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { signStatement } from "../../../../src/lib/release/statement.ts";
import { digestOf, RELEASE_TYPES } from "../../../../src/lib/release/read-release.ts";
import { someAudit } from "../../../support/control-plane/people.ts";
import { openSqliteStore } from "../../../support/control-plane/sqlite-store.ts";
import { memoryDir } from "../../../support/temp-dir.ts";
import { type SomeRelease, someRelease } from "../../../support/updates/some-release.ts";

let directory: Awaited<ReturnType<typeof memoryDir>>;
let store: Store;
beforeEach(async () => {
  directory = await memoryDir();
  store = await openSqliteStore(join(directory.path, "edge-control.sqlite"));
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

const add = (release: SomeRelease, keys = [release.publicKey], folder = release.layout) =>
  addRelease({
    store: store.agentReleases,
    folder,
    keys,
    now: 7,
    auditOf: () => someAudit("agent_release.added", ""),
  });

async function storedBytes(digest: string): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = await store.agentReleases.readPiece(digest, pieces.length);
    if (!piece) return Buffer.concat(pieces);
    pieces.push(piece);
  }
}

const blobPath = ({ layout }: SomeRelease, digest: string): string => join(layout, "blobs", ...digest.split(":"));

async function largestBlob(release: SomeRelease): Promise<string> {
  const folder = join(release.layout, "blobs/sha256");
  const paths = (await readdir(folder)).map((name) => join(folder, name));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return paths[sizes.indexOf(Math.max(...sizes))]!;
}

/** Changes a document of the layout, which is not signed itself. */
async function changeJson(path: string, change: (value: Record<string, unknown>) => unknown): Promise<void> {
  const value = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
  await writeFile(path, JSON.stringify(change(value)));
}

/** Signs an index of the caller's own in place of the one that is there. */
async function signIndex(release: SomeRelease, index: object, subject?: string): Promise<SomeRelease> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const put = async (content: Buffer) => {
    const digest = digestOf(content);
    await writeFile(blobPath(release, digest), content);
    return { digest, size: content.length, mediaType: "any" };
  };
  const own = await put(Buffer.from(JSON.stringify(index)));
  const signedAt = "2026-11-28T00:00:00.000Z";
  const statement = {
    version: "1.5.0",
    index: own.digest,
    oldestProtocol: 1,
    floor: "1.0.0",
    signedAt,
    keys: [publicKey],
  };
  const envelope = await put(signStatement(statement, privateKey));
  const config = await put(Buffer.from("{}"));
  const refersTo = { ...own, ...(subject !== undefined && { digest: subject }) };
  const manifest = await put(Buffer.from(JSON.stringify({ config, layers: [envelope], subject: refersTo })));
  const signature = { ...manifest, artifactType: RELEASE_TYPES.signature };
  await writeFile(join(release.layout, "index.json"), JSON.stringify({ manifests: [own, signature] }));
  return { ...release, publicKey };
}

async function indexOf(release: SomeRelease): Promise<{ manifests: Record<string, unknown>[] }> {
  const layout = JSON.parse(await readFile(join(release.layout, "index.json"), "utf8")) as {
    manifests: { digest: string }[];
  };
  return JSON.parse(await readFile(blobPath(release, layout.manifests[0]!.digest), "utf8")) as {
    manifests: Record<string, unknown>[];
  };
}

describe("a release for the service", () => {
  test("is stored with every byte of its layout, and stays as it is", async () => {
    const release = await someRelease(directory.path, "1.5.0");
    const { result, release: added } = await add(release);
    expect(result).toBe("added");
    const sizes = { bytes: 300_000, unpackedBytes: 600_000 };
    expect(added).toMatchObject({
      version: "1.5.0",
      addedAt: 7,
      images: [
        { architecture: "amd64", ...sizes },
        { architecture: "arm64", ...sizes },
      ],
    });
    const names = await readdir(join(release.layout, "blobs/sha256"));
    for (const digest of names.map((name) => `sha256:${name}`)) {
      expect(await storedBytes(digest)).toEqual(await readFile(blobPath(release, digest)));
      expect(await store.agentReleases.findPart(digest)).toBeDefined();
    }
    const [signature, ...others] = await store.agentReleases.listReferrers(added.digest);
    expect(others).toEqual([]);
    expect(signature).toMatchObject({ mediaType: RELEASE_TYPES.manifest, artifactType: RELEASE_TYPES.signature });
    const other = await someRelease(join(directory.path, "other"), "1.5.0", { layerBytes: 10 });
    expect((await add(other)).result).toBe("exists");
    expect(await store.agentReleases.findRelease("1.5.0")).toEqual(added);
  });

  test("what is removed leaves nothing, also of an addition that was interrupted", async () => {
    const release = await someRelease(directory.path, "1.5.0");
    await add(release);
    await store.agentReleases.addPiece("sha256:interrupted", 0, Uint8Array.of(1));
    const audit = someAudit("agent_release.removed", "");
    expect(await removeRelease(store.agentReleases, "1.5.0", audit)).toBe(true);
    expect(await removeRelease(store.agentReleases, "1.5.0", audit)).toBe(false);
    for (const layer of Object.values(release.layers)) expect(await storedBytes(digestOf(layer))).toHaveLength(0);
    expect(await storedBytes("sha256:interrupted")).toHaveLength(0);
    expect((await add(release)).result).toBe("added");
  });

  const refusals: Readonly<Record<string, [string, (release: SomeRelease) => Promise<unknown>]>> = {
    "a byte of a layer is another": [
      "digest_mismatch",
      async (release) => {
        const path = await largestBlob(release);
        const content = await readFile(path);
        content[1000]! ^= 1;
        await writeFile(path, content);
      },
    ],
    "a layer is longer": ["malformed", async (release) => writeFile(await largestBlob(release), "x", { flag: "a" })],
    "a layer is missing": ["incomplete", async (release) => rm(await largestBlob(release))],
    "a layer is a folder": [
      "malformed",
      async (release) => {
        const path = await largestBlob(release);
        await rm(path);
        await mkdir(path);
      },
    ],
    "a layer is an endless device": [
      "malformed",
      async (release) => {
        const path = await largestBlob(release);
        await rm(path);
        await symlink("/dev/zero", path);
      },
    ],
    "there is no index.json": ["incomplete", async ({ layout }) => rm(join(layout, "index.json"))],
    "index.json is too large": [
      "malformed",
      async ({ layout }) => writeFile(join(layout, "index.json"), "x".repeat(65_537)),
    ],
    "index.json is too deep": [
      "malformed",
      async ({ layout }) => writeFile(join(layout, "index.json"), "[".repeat(60_000)),
    ],
    "it is not signed": [
      "unsigned",
      ({ layout }) =>
        changeJson(join(layout, "index.json"), ({ manifests }) => ({ manifests: (manifests as object[]).slice(0, 1) })),
    ],
    "the signature is another file's": [
      "malformed",
      async ({ layout }) =>
        changeJson(join(layout, "index.json"), ({ manifests }) => {
          const [index, signature] = manifests as object[];
          return { manifests: [index, { ...signature, digest: "../../../../etc/passwd" }] };
        }),
    ],
  };

  test.each(Object.entries(refusals))("is refused if %s", async (_what, [code, damage]) => {
    const release = await someRelease(directory.path, "1.5.0");
    await damage(release);
    await expect(add(release)).rejects.toMatchObject({ name: "ReleaseError", code });
    expect(await store.agentReleases.listReleases()).toEqual([]);
  });

  test("is refused if a foreign key has signed it", async () => {
    const release = await someRelease(directory.path, "1.5.0");
    const { publicKey } = generateKeyPairSync("ed25519");
    await expect(add(release, [publicKey])).rejects.toMatchObject({ code: "untrusted_key" });
    expect((await add(release, [publicKey, release.publicKey])).result).toBe("added");
  });

  test("is refused if its signer made what devices would not find or could not tell apart", async () => {
    const release = await someRelease(directory.path, "1.5.0");
    const index = await indexOf(release);
    const [first] = index.manifests;
    const signed = {
      "one architecture twice": { manifests: [first, first] },
      "none at all": { manifests: [] },
      "an architecture with a strange name": {
        manifests: [{ ...first, platform: { os: "linux", architecture: "../x" } }],
      },
      "too many": {
        manifests: Array.from({ length: 9 }, (_none, number) => ({
          ...first,
          platform: { os: "linux", architecture: `a${number}` },
        })),
      },
    };
    for (const [what, content] of Object.entries(signed))
      await expect(add(await signIndex(release, content)), what).rejects.toMatchObject({ code: "malformed" });
    const other = digestOf(Buffer.from("another index"));
    await expect(add(await signIndex(release, index, other))).rejects.toMatchObject({ code: "malformed" });
    expect((await add(await signIndex(release, index))).result).toBe("added");
  });
});

describe("keys of the service", () => {
  test("are the named ones, else those beside the program", async () => {
    const release = await someRelease(directory.path, "1.5.0");
    const folder = join(directory.path, "release-keys");
    expect(() => readReleaseKeys([], folder)).toThrow(/--key/);
    await mkdir(folder);
    await writeFile(join(folder, "README.md"), "no key");
    expect(() => readReleaseKeys([], folder)).toThrow(/--key/);
    await writeFile(join(folder, "own.pem"), await readFile(release.keyFile));
    expect(readReleaseKeys([], folder).map((key) => key.equals(release.publicKey))).toEqual([true]);
    const other = await someRelease(directory.path, "1.6.0");
    expect(readReleaseKeys([other.keyFile], folder).map((key) => key.equals(other.publicKey))).toEqual([true]);
  });

  test("are no private keys, no keys of other kinds, and no other files", async () => {
    const write = async (name: string, content: string | Buffer): Promise<string> => {
      const path = join(directory.path, name);
      await writeFile(path, content);
      return path;
    };
    const { privateKey } = generateKeyPairSync("ed25519");
    const { publicKey: rsa } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const files = [
      await write("private.pem", privateKey.export({ type: "pkcs8", format: "pem" })),
      await write("rsa.pem", rsa.export({ type: "spki", format: "pem" })),
      await write("text.pem", "no key"),
      join(directory.path, "absent.pem"),
    ];
    for (const file of files)
      expect(() => readReleaseKeys([file]), file).toThrow(expect.objectContaining({ code: "no_keys" }) as Error);
  });
});
