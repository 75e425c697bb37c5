import { generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ReleaseErrorCode } from "../../../src/lib/release/release-error.ts";
import { nodeDisk } from "../../../src/updater/disk.ts";
import { tarOf, type TarEntry } from "../../support/updates/raw-tar.ts";
import { PACKAGE_VERSION, UpdateRig } from "../../support/updates/update-rig.ts";

const GOOD: readonly TarEntry[] = [
  { path: "edge-agent", mode: 0o755, content: "a" },
  { path: "node", mode: 0o755, content: "b" },
];
const NEXT = "1.1.0";

describe("the updater, which trusts only signatures", () => {
  let rig: UpdateRig;
  beforeEach(async () => {
    rig = await UpdateRig.create();
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const expectRefused = async (code: ReleaseErrorCode): Promise<void> => {
    expect(await rig.handle()).toMatchObject({ ok: false, code });
    // Nothing is left of it, and nothing was written elsewhere.
    expect(readdirSync(rig.path("releases")).filter((name) => name !== "answer.json")).toEqual([]);
    expect(readdirSync(rig.root).toSorted()).toEqual(rigFolders);
    expect(await rig.running()).toBe("package");
  };
  let rigFolders: string[];
  const hand = async (...args: Parameters<UpdateRig["release"]>): Promise<string> => {
    rig.handOver(await rig.release(...args));
    rigFolders = readdirSync(rig.root).toSorted();
    return rig.path("state/agent-update/layout");
  };

  it("installs a good release, readable by all and writable by its owner only", async () => {
    await hand(NEXT);
    expect(await rig.handle()).toEqual({ id: "1", ok: true, version: NEXT });
    expect(rig.state).toMatchObject({
      installed: [NEXT],
      trial: { version: NEXT, starts: 0, attempt: 1, maxTicks: 30 },
    });
    const folder = rig.path("releases", NEXT);
    const modes = ["", "edge-agent", "node", "lib", "lib/library.so.1", "release.json"].map((name) =>
      (lstatSync(join(folder, name)).mode & 0o7777).toString(8),
    );
    expect(modes).toEqual(["755", "755", "755", "755", "644", "644"]);
    expect(await rig.start()).toBe(NEXT);
  });

  it("refuses one that is not signed", async () => {
    await hand(NEXT, { key: undefined });
    await expectRefused("unsigned");
  });

  it("refuses one that a foreign key has signed", async () => {
    await hand(NEXT, { key: generateKeyPairSync("ed25519").privateKey });
    await expectRefused("untrusted_key");
  });

  it("refuses a signature over another release: of an older one, beside a new index", async () => {
    const other = JSON.parse(readFileSync(join(await rig.release("1.0.5"), "index.json"), "utf8")) as Index;
    const layout = await hand(NEXT);
    for (const name of readdirSync(rig.path("layouts/1.0.5/blobs/sha256")))
      rmAndLink(rig.path("layouts/1.0.5/blobs/sha256", name), join(layout, "blobs/sha256", name));
    const own = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as Index;
    const manifests = [own.manifests[0], other.manifests[1]];
    writeFileSync(join(layout, "index.json"), JSON.stringify({ ...own, manifests }));
    await expectRefused("incomplete");
  });

  it("refuses one of which a byte was changed after it was signed", async () => {
    const path = largestBlob(await hand(NEXT));
    const content = readFileSync(path);
    content[content.length - 1]! ^= 1;
    writeFileSync(path, content);
    await expectRefused("digest_mismatch");
  });

  it("refuses one that is longer or shorter than what was signed", async () => {
    const path = largestBlob(await hand(NEXT));
    const content = readFileSync(path);
    writeFileSync(path, Buffer.concat([content, Buffer.from("x")]));
    await expectRefused("malformed");
    writeFileSync(path, content.subarray(1));
    await expectRefused("digest_mismatch");
  });

  it("refuses one of which a part is missing", async () => {
    rmSync(largestBlob(await hand(NEXT)));
    await expectRefused("incomplete");
  });

  it("refuses one for another architecture", async () => {
    await hand(NEXT, { architecture: "arm64" });
    await expectRefused("wrong_architecture");
  });

  it("refuses an older one that is replayed", async () => {
    await hand("0.9.5");
    await expectRefused("not_newer");
    await hand(PACKAGE_VERSION);
    await expectRefused("installed");
  });

  it("refuses a floor above what runs, and a version that names a path", async () => {
    await hand(NEXT, { floor: "1.0.1" });
    await expectRefused("too_far");
    const layout = await rig.release(NEXT, { floor: "../1" });
    rig.handOver(layout);
    await expectRefused("malformed");
  });

  it.each<[string, readonly TarEntry[], (string | undefined)?]>([
    ["a path above its folder", [{ path: "../outside", content: "x" }]],
    ["an absolute path", [{ path: "/tmp/outside", content: "x" }]],
    ["a path with a part that leads up", [{ path: "lib/../../outside", content: "x" }]],
    ["a hidden name", [{ path: ".hidden", content: "x" }]],
    ["a symbolic link", [{ path: "link", type: "2", target: "/etc" }]],
    [
      "a link and a file behind it",
      [
        { path: "l", type: "2", target: "/tmp" },
        { path: "l/x", content: "x" },
      ],
    ],
    ["a hard link", [{ path: "hard", type: "1", target: "/etc/shadow" }]],
    ["a character device", [{ path: "dev", type: "3" }]],
    ["a block device", [{ path: "dev", type: "4" }]],
    ["a pipe", [{ path: "pipe", type: "6" }]],
    ["an extended header", [{ path: "x", type: "x", content: "12 path=/x\n" }]],
    ["a set-uid bit", [{ path: "su", mode: 0o4755, content: "x" }]],
    ["a set-gid bit on a folder", [{ path: "sg/", type: "5", mode: 0o2755 }]],
    ["a name that is there twice", [{ path: "node", content: "x" }]],
    ["a file where a folder has to be", [{ path: "node/x", content: "x" }]],
    ["a folder that is missing", [{ path: "no/such/x", content: "x" }]],
    ["a file that is longer than the archive", [{ path: "long", content: "x", bytes: 5_000 }]],
    ["a file of many gigabytes", [{ path: "huge", content: "x", bytes: 0o77777777777 }]],
  ])("refuses an archive with %s", async (_what, entries) => {
    await hand(NEXT, { entries: [...GOOD, ...entries], unpackedBytes: 10_000 });
    await expectRefused("unsafe_content");
    expect(existsSync("/tmp/outside")).toBe(false);
  });

  it("refuses an archive with too many entries", async () => {
    const entries = Array.from({ length: 201 }, (_, at) => ({ path: `f${at}` }));
    await hand(NEXT, { entries: [...GOOD, ...entries] });
    await expectRefused("unsafe_content");
  });

  it("refuses an archive with more bytes than it says, and one that says more than the device takes", async () => {
    await hand(NEXT, { entries: [...GOOD, { path: "big", content: "x".repeat(100) }], unpackedBytes: 101 });
    await expectRefused("unsafe_content");
    await hand(NEXT, { unpackedBytes: 600 * 1024 * 1024 });
    await expectRefused("malformed");
  });

  it("refuses a bomb: zeros without end behind the last entry", async () => {
    const bomb = zstdCompressSync(Buffer.concat([tarOf(GOOD), Buffer.alloc(64 * 1024 * 1024)]));
    expect(bomb.length).toBeLessThan(20_000);
    await hand(NEXT, { layer: bomb });
    await expectRefused("unsafe_content");
  });

  it.each([
    ["is cut off", zstdCompressSync(tarOf(GOOD).subarray(0, 1_500))],
    ["is not compressed", tarOf(GOOD)],
    ["is compressed rubbish", zstdCompressSync(Buffer.alloc(2_048, 7))],
    ["is empty", zstdCompressSync(Buffer.alloc(0))],
  ])("refuses an archive that %s", async (_what, layer) => {
    await hand(NEXT, { layer });
    await expectRefused("unsafe_content");
  });

  it("refuses one without a program", async () => {
    await hand(NEXT, { entries: [{ path: "readme", content: "x" }] });
    expect(await rig.handle()).toMatchObject({ ok: false, code: "not_executable" });
    expect(await rig.start()).toBe("package");
  });

  it("refuses one for which there is no room, before it writes anything", async () => {
    await hand(NEXT);
    const disk = { ...nodeDisk, freeBytes: () => 1_000 };
    expect(await rig.handle(disk)).toMatchObject({ ok: false, code: "insufficient_disk" });
    expect(rig.state.installed).toEqual([]);
  });

  it("follows no link in what the agent has left", async () => {
    const layout = await hand(NEXT);
    const blob = largestBlob(layout);
    renameSync(blob, rig.path("elsewhere"));
    rigFolders.push("elsewhere");
    rigFolders.sort();
    symlinkSync(rig.path("elsewhere"), blob);
    await expectRefused("incomplete");
    rmSync(blob);
    renameSync(rig.path("elsewhere"), blob);
    renameSync(layout, rig.path("elsewhere"));
    symlinkSync(rig.path("elsewhere"), layout);
    await expectRefused("incomplete");
  });

  it("reads plain files only: a folder or a pipe does not stop it", async () => {
    const layout = await hand(NEXT);
    rmSync(join(layout, "index.json"));
    mkdirSync(join(layout, "index.json"));
    await expectRefused("malformed");
  });

  it.each([
    "",
    "{",
    "[]",
    '{"id":"1"}',
    '{"id":"../x","action":"install"}',
    '{"id":"1","action":"rm"}',
    '{"id":"1","action":"install","deployment":"dep_1\\n2.0.0 dep_2 2"}',
    "x".repeat(5_000),
  ])("refuses the request %.40j", async (text) => {
    await hand(NEXT);
    writeFileSync(rig.path("state/agent-update/request.json"), text);
    await expectRefused("malformed");
  });

  it("refuses a request that others than the agent can write, or that is a link", async () => {
    await hand(NEXT);
    const path = rig.path("state/agent-update/request.json");
    chmodSync(path, 0o660);
    await expectRefused("malformed");
    chmodSync(path, 0o600);
    renameSync(path, rig.path("state/request"));
    symlinkSync(rig.path("state/request"), path);
    await expectRefused("incomplete");
    rmSync(path);
    renameSync(rig.path("state/request"), path);
    chmodSync(rig.path("state/agent-update"), 0o775);
    await expectRefused("malformed");
  });

  it.each<[string, (folder: string) => void]>([
    ["is empty", (folder) => rmSync(join(folder, "own.pem"))],
    ["is not there", (folder) => rmSync(folder, { recursive: true })],
    ["can be written by others", (folder) => chmodSync(folder, 0o777)],
    ["has a key that others can write", (folder) => chmodSync(join(folder, "own.pem"), 0o666)],
    ["has a file that is no key", (folder) => writeFileSync(join(folder, "z.pem"), "no key")],
    [
      "has a key of another kind",
      (folder) =>
        writeFileSync(
          join(folder, "z.pem"),
          generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }),
        ),
    ],
    [
      "has a link",
      (folder) => {
        renameSync(join(folder, "own.pem"), join(folder, "own"));
        symlinkSync("own", join(folder, "link.pem"));
      },
    ],
  ])("takes nothing if the list of trusted keys %s", async (_what, change) => {
    await hand(NEXT);
    change(rig.path("package/release-keys"));
    await expectRefused("no_keys");
  });
});

interface Index {
  readonly manifests: readonly unknown[];
}

function rmAndLink(from: string, to: string): void {
  rmSync(to, { force: true });
  linkSync(from, to);
}

function largestBlob(layout: string): string {
  const folder = join(layout, "blobs/sha256");
  const [name = ""] = readdirSync(folder).toSorted(
    (a, b) => lstatSync(join(folder, b)).size - lstatSync(join(folder, a)).size,
  );
  return join(folder, name);
}
