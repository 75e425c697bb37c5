import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { request } from "node:http";
import { pipeline } from "node:stream/promises";
import { succeed } from "../command.ts";
import { engineRequest } from "../images.ts";

/** A release of Debian. */
export type Suite = "bookworm" | "trixie";

const CACHE = ".cache/devices";
const PACKAGES = ["systemd", "systemd-sysv", "dbus", "docker.io", "iptables", "iproute2", "xz-utils"];
const NOT_NEEDED = [
  "getty@tty1.service",
  "systemd-modules-load.service",
  "apt-daily.timer",
  "apt-daily-upgrade.timer",
  "dpkg-db-backup.timer",
  "fstrim.timer",
];

/** Arguments of mmdebstrap for an arm64 device with systemd only. */
const ARM64_RECIPE = ["--arch=arm64", "--variant=essential", "--include=systemd,libstdc++6", "bookworm"];

/** Arguments of mmdebstrap, which also identify the cached image. */
function recipe(suite: Suite): string[] {
  return [
    "--variant=minbase",
    `--include=${PACKAGES.join(",")}`,
    // The journal persists over a reboot and drops no line.
    `--customize-hook=mkdir -p "$1/etc/systemd/journald.conf.d" "$1/var/log/journal"`,
    `--customize-hook=printf '[Journal]\\nStorage=persistent\\nRateLimitBurst=0\\n' > "$1/etc/systemd/journald.conf.d/test.conf"`,
    `--customize-hook=chroot "$1" systemctl mask ${NOT_NEEDED.join(" ")}`,
    `--customize-hook=rm -rf "$1/usr/share/doc" "$1/usr/share/locale" "$1/var/lib/apt/lists"`,
    suite,
  ];
}

/**
 * Makes sure that the engine has the image of a device with systemd and a container engine, and returns its name.
 * Building it from Debian's packages needs the network and half a minute, once for each recipe.
 */
export async function deviceImage(engineSocket: string, suite: Suite): Promise<string> {
  return await madeOf(recipe(suite), `edge-device-${suite}`, engineSocket);
}

/** The same for a small arm64 system. Building it under emulation takes two minutes, once. */
export async function arm64Image(engineSocket: string): Promise<string> {
  return await madeOf(ARM64_RECIPE, "edge-device-arm64", engineSocket);
}

async function madeOf(args: readonly string[], name: string, engineSocket: string): Promise<string> {
  const tag = createHash("sha256").update(args.join("\0")).digest("hex").slice(0, 16);
  const reference = `${name}:${tag}`;
  if ((await engineRequest(engineSocket, "GET", `/images/${reference}/json`)).status === 200) return reference;
  await mkdir(CACHE, { recursive: true });
  const archive = `${CACHE}/${name}-${process.pid}.tar`;
  try {
    await succeed("mmdebstrap", [...args, archive], { timeoutMs: 600_000 });
    await importImage(engineSocket, archive, name, tag);
  } finally {
    await rm(archive, { force: true });
  }
  return reference;
}

/** Streams the archive, which is too large for memory. */
async function importImage(socketPath: string, archive: string, name: string, tag: string): Promise<void> {
  const path = `/images/create?fromSrc=-&repo=${name}&tag=${tag}`;
  const answered = Promise.withResolvers<number | undefined>();
  const call = request({ socketPath, method: "POST", path, headers: { "Content-Type": "application/x-tar" } });
  call.on("error", answered.reject);
  call.on("response", (response) => response.resume().on("end", () => answered.resolve(response.statusCode)));
  await pipeline(createReadStream(archive), call);
  const status = await answered.promise;
  if (status !== 200) throw new Error(`the engine did not import the device image: ${status}`);
}
