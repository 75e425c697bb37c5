import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { cached } from "../../support/cached.ts";
import { succeed } from "../../support/command.ts";
import { busyboxLayer } from "../../support/images/busybox.ts";
import { entriesBelow } from "../../support/images/debian.ts";
import { buildImage, type FileEntry, fileLayer, type Image, type Layer, sha256 } from "../../support/images/image.ts";
import { uniqueName } from "../../support/images.ts";
import { versionedImage } from "../../support/images/versioned-image.ts";
import { zstdChunkedBlob } from "../../support/layer-parts/zstd-chunked-blob.ts";

/** Two versions of an image, and how many files its changed layer has. */
export interface Versions {
  readonly old: Image;
  readonly next: Image;
  readonly files: number;
}

const CACHE = ".cache/bench-update";
/** A patch release. With the second package, which stays the same, the app has more than 10,000 files. */
const NODE_APP = { old: "node-red@4.1.14", next: "node-red@4.1.15", same: "date-fns@4.1.0" };
/** Packages that Debian has in two versions: that of the release and that of its security updates. */
const UPDATED = ["libssl3", "openssl", "libexpat1", "perl-base", "libxml2"];
const UNCHANGED = [
  ["bash", "coreutils", "dash", "debianutils", "diffutils", "findutils", "grep", "gzip", "hostname", "sed", "tar"],
  ["libacl1", "libattr1", "libbz2-1.0", "libc6", "libc-bin", "libcrypt1", "libgcc-s1", "libgmp10", "libgnutls30"],
  ["libhogweed6", "libidn2-0", "liblz4-1", "liblzma5", "libnettle8", "libp11-kit0", "libpcre2-8-0", "libselinux1"],
  ["libstdc++6", "libsystemd0", "libtasn1-6", "libtinfo6", "libudev1", "libunistring2", "libzstd1", "zlib1g"],
  ["apt", "dpkg", "login", "mount", "ncurses-bin", "passwd", "sysvinit-utils", "util-linux", "tzdata", "base-files"],
].flat();
const CONFIG = { Cmd: ["/bin/sleep", "1000000"], StopSignal: "SIGKILL" };
const DAY_MS = 86_400_000;
const SMALL_FILES = 400;

/** A Node.js app from npm's packages, with its modules in one layer, before and after a patch release. */
export async function nodeAppVersions(): Promise<Versions> {
  const read = async (name: string): Promise<FileEntry[]> => {
    const directory = await cached(CACHE, `app-${name}`, (fresh) => {
      const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--prefix", fresh];
      return succeed("npm", ["install", ...options, name, NODE_APP.same]);
    });
    return (await entriesBelow(directory)).map((entry) => Object.assign(entry, { path: `app/${entry.path}` }));
  };
  return await versionsOf(await read(NODE_APP.old), await read(NODE_APP.next));
}

/** Made-up versions of an app: small, and without any package, for a functional check. */
export async function smallVersions(): Promise<Versions> {
  const shell = await busyboxLayer(["sleep"]);
  const seed = uniqueName("small");
  const image = async (version: number): Promise<Image> => {
    return buildImage([...(await versionedImage({ seed, version, files: SMALL_FILES })).layers, shell], CONFIG);
  };
  return { old: await image(1), next: await image(2), files: SMALL_FILES };
}

/** A Debian system in one layer, before and after security updates of five of its packages. */
export async function debianVersions(): Promise<Versions> {
  return await versionsOf(await debianFiles("old"), await debianFiles("new"));
}

/** The same image with layers as newer tools push them. */
export function zstdChunked(image: Image): Image {
  const mediaType = "application/vnd.oci.image.layer.v1.tar+zstd";
  const layers = image.layers.map(({ tar, diffId }) => {
    const { blob, annotations } = zstdChunkedBlob(tar, { chunkBytes: "rolling" });
    return { tar, diffId, compressed: blob, digest: sha256(blob), mediaType, annotations };
  });
  return { ...image, layers };
}

async function versionsOf(old: readonly FileEntry[], next: readonly FileEntry[]): Promise<Versions> {
  const shell = await busyboxLayer(["sleep"]);
  // A build gives every file a new time.
  const image = async (files: readonly FileEntry[], day: number): Promise<Image> =>
    buildImage([asBuildersDo(await fileLayer(files, new Date(day * DAY_MS))), shell], CONFIG);
  const files = next.filter((entry) => "content" in entry).length;
  return { old: await image(old, 20_000), next: await image(next, 20_030), files };
}

/** Compressed at the level of Docker's and BuildKit's builds. Tests use a faster one, which would flatter us. */
function asBuildersDo(layer: Layer): Layer {
  const compressed = gzipSync(layer.tar, { level: 6 });
  return { ...layer, compressed, digest: sha256(compressed) };
}

async function debianFiles(which: "old" | "new"): Promise<FileEntry[]> {
  const directory = await cached(CACHE, `debian-${which}`, async (fresh) => {
    const names = [...UNCHANGED, ...(await Promise.all(UPDATED.map((name) => versionOf(name, which))))];
    const debs = join(fresh, ".debs");
    mkdirSync(debs);
    await succeed("sh", ["-c", `cd "$0" && apt-get -qq -o APT::Sandbox::User=root download "$@"`, debs, ...names]);
    await succeed("sh", ["-c", `for deb in "$0"/*.deb; do dpkg-deb -x "$deb" "$1"; done`, debs, fresh]);
    rmSync(debs, { recursive: true });
  });
  return await entriesBelow(directory);
}

/** Returns `NAME=VERSION` with the oldest or the newest version that apt knows. */
async function versionOf(name: string, which: "old" | "new"): Promise<string> {
  const known = (await succeed("apt-cache", ["madison", name]))
    .split("\n")
    .flatMap((line) => line.split("|")[1]?.trim() ?? []);
  const sorted = (await succeed("sort", ["-V"], { input: [...new Set(known)].join("\n") })).trim().split("\n");
  if (sorted.length < 2) throw new Error(`apt knows no two versions of ${name}: run apt-get update`);
  return `${name}=${which === "old" ? sorted[0] : sorted.at(-1)}`;
}
