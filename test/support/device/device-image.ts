import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { request } from "node:http";
import { pipeline } from "node:stream/promises";
import { succeed } from "../command.ts";
import { engineRequest } from "../images.ts";

/** A release of Debian. */
export type Suite = "bullseye" | "bookworm" | "trixie";

const CACHE = ".cache/devices";
const PACKAGES = ["systemd", "systemd-sysv", "dbus", "iptables", "iproute2", "procps", "sudo", "xz-utils"];

/** The package of a device's container engine. */
export type EnginePackage = "docker.io" | "podman";
/** With what apt would install beside it, and mmdebstrap does not: networks with names, and an init process. */
const ENGINE_PACKAGES: Readonly<Record<EnginePackage, readonly string[]>> = {
  "docker.io": ["docker.io"],
  podman: ["podman", "netavark", "aardvark-dns", "nftables", "catatonit"],
};
const NOT_NEEDED = [
  "getty@tty1.service",
  "systemd-modules-load.service",
  "apt-daily.timer",
  "apt-daily-upgrade.timer",
  "dpkg-db-backup.timer",
  "fstrim.timer",
];

const ARM64_PACKAGES = [
  "base-files",
  "base-passwd",
  "bash",
  "coreutils",
  "dash",
  "diffutils",
  "dpkg",
  "findutils",
  "grep",
  "libc-bin",
  "libstdc++6",
  "sed",
  "systemd",
];

/**
 * Arguments of mmdebstrap for an arm64 device with systemd only. Packages are unpacked and not configured: that would take
 * two minutes under emulation. dpkg knows none of them.
 */
const ARM64_RECIPE = [
  "--arch=arm64",
  "--variant=extract",
  `--include=${ARM64_PACKAGES.join(",")}`,
  // What the configuration of base-passwd and dpkg makes.
  `--extract-hook=for file in passwd group; do cp "$1/usr/share/base-passwd/$file.master" "$1/etc/$file"; done`,
  `--extract-hook=mkdir -p "$1/var/lib/dpkg/info" "$1/var/lib/dpkg/updates" && touch "$1/var/lib/dpkg/status"`,
  "bookworm",
];

/** Arguments of mmdebstrap, which also identify the cached image. */
function recipe(suite: Suite, engine: EnginePackage = "docker.io"): string[] {
  return [
    "--variant=minbase",
    `--include=${[...PACKAGES, ...ENGINE_PACKAGES[engine]].join(",")}`,
    // The journal persists over a reboot and drops no line.
    `--customize-hook=mkdir -p "$1/etc/systemd/journald.conf.d" "$1/var/log/journal"`,
    `--customize-hook=printf '[Journal]\\nStorage=persistent\\nRateLimitBurst=0\\n' > "$1/etc/systemd/journald.conf.d/test.conf"`,
    // Settings of procps and systemd for a kernel, which is not the device's own but that of this machine.
    `--customize-hook=rm -f "$1"/usr/lib/sysctl.d/*.conf`,
    `--customize-hook=chroot "$1" systemctl mask ${NOT_NEEDED.join(" ")}`,
    `--customize-hook=rm -rf "$1/usr/share/doc" "$1/usr/share/locale" "$1/var/lib/apt/lists"`,
    suite,
  ];
}

/**
 * Makes sure that the engine has the image of a device with systemd and a container engine, and returns its name.
 * Building it from Debian's packages needs the network and half a minute, once for each recipe.
 */
export async function deviceImage(engineSocket: string, suite: Suite, engine?: EnginePackage): Promise<string> {
  return await madeOf(recipe(suite, engine), `edge-device-${suite}`, engineSocket);
}

/** Builds the file system of such a device if it is not in the cache, for a later `deviceImage`. */
export async function prepareDeviceImage(suite: Suite, engine?: EnginePackage): Promise<void> {
  const args = recipe(suite, engine);
  await archiveOf(args, nameOf(args, `edge-device-${suite}`));
}

/** The same for a small arm64 system. */
export async function arm64Image(engineSocket: string): Promise<string> {
  return await madeOf(ARM64_RECIPE, "edge-device-arm64", engineSocket);
}

interface ImageName {
  readonly name: string;
  readonly tag: string;
}

function nameOf(args: readonly string[], name: string): ImageName {
  return { name, tag: createHash("sha256").update(args.join("\0")).digest("hex").slice(0, 16) };
}

async function madeOf(args: readonly string[], label: string, engineSocket: string): Promise<string> {
  const image = nameOf(args, label);
  const reference = `${image.name}:${image.tag}`;
  if ((await engineRequest(engineSocket, "GET", `/images/${reference}/json`)).status === 200) return reference;
  await importImage(engineSocket, await archiveOf(args, image), image);
  return reference;
}

// Test files with an engine of their own need the same file system at the same time: one of them builds it.
const BUILD =
  'archive=$1; shift; test -e "$archive" || { mmdebstrap "$@" "$archive.part" && mv "$archive.part" "$archive"; }';

async function archiveOf(args: readonly string[], { name, tag }: ImageName): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  const archive = `${CACHE}/${name}-${tag}.tar`;
  const build = ["sh", "-c", BUILD, "build", archive, "--format=tar", ...args];
  await succeed("flock", [`${archive}.lock`, ...build], { timeoutMs: 600_000 });
  return archive;
}

/** Streams the archive, which is too large for memory. */
async function importImage(socketPath: string, archive: string, { name, tag }: ImageName): Promise<void> {
  const path = `/images/create?fromSrc=-&repo=${name}&tag=${tag}`;
  const answered = Promise.withResolvers<number | undefined>();
  const call = request({ socketPath, method: "POST", path, headers: { "Content-Type": "application/x-tar" } });
  call.on("error", answered.reject);
  call.on("response", (response) => response.resume().on("end", () => answered.resolve(response.statusCode)));
  await pipeline(createReadStream(archive), call);
  const status = await answered.promise;
  if (status !== 200) throw new Error(`the engine did not import the device image: ${status}`);
}
