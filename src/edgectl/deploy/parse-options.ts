import { InvalidArgumentError } from "commander";
import type { AppSpec, PortMapping, Volume } from "../../protocol/app-spec.ts";
import { UNLIMITED_SWAP } from "../../protocol/container-rights.ts";
import { parseOwner, volumeName } from "../../protocol/volume-fields.ts";

export type DeviceMapping = NonNullable<AppSpec["devices"]>[number];

const SIZE_FACTORS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Parses `[ADDRESS:]HOST:TARGET[/udp]`, such as `30080:80` or `127.0.0.1:30080:80`. The service checks range and address. */
export function parsePort(text: string): PortMapping {
  const match = /^(?:((?!0\.0\.0\.0)\d+(?:\.\d+){3}|\[[\da-fA-F:.]+\]):)?(\d{1,5}):(\d{1,5})(?:\/(tcp|udp))?$/.exec(
    text,
  );
  if (!match)
    throw new InvalidArgumentError("Write HOST:TARGET, such as 30080:80, HOST:TARGET/udp, or 127.0.0.1:HOST:TARGET.");
  const address = match[1]?.replace(/^\[(.*)\]$/, "$1");
  return {
    host_port: Number(match[2]),
    target_port: Number(match[3]),
    ...(match[4] === "udp" && { protocol: "udp" }),
    ...(address !== undefined && { host_address: address }),
  };
}

const OWNER_SUFFIX = /:owner=([^/]*)$/;

/**
 * Parses `SOURCE:TARGET[:ro|rw][:owner=UID[:GID]]`, such as `/var/lib/web:/data:ro` or `web-data:/data`. A source that is
 * no path is the name of a volume. Paths with a colon need an app file.
 */
export function parseVolume(text: string): Volume {
  const owner = OWNER_SUFFIX.exec(text)?.[1];
  const [source = "", target = "", mode = "rw", ...rest] = text.replace(OWNER_SUFFIX, "").split(":");
  const isName = volumeName.safeParse(source).success;
  if (rest.length > 0 || !(source.startsWith("/") || isName) || !target.startsWith("/")) {
    throw new InvalidArgumentError(
      "Write SOURCE:TARGET or SOURCE:TARGET:ro, with an absolute path or the name of a volume, and an absolute path.",
    );
  }
  if (mode !== "ro" && mode !== "rw") throw new InvalidArgumentError("The third part is ro or rw.");
  if (owner !== undefined && !parseOwner(owner)) {
    throw new InvalidArgumentError("Write the owner as numbers: owner=UID or owner=UID:GID.");
  }
  const options = { target, readonly: mode === "ro", ...(owner !== undefined && { owner }) };
  return isName ? { name: source, ...options } : { local: source, ...options };
}

/** Parses `LOCAL[:TARGET[:PERMISSIONS]]`, such as `/dev/ttyUSB0` or `/dev/ttyUSB0:/dev/serial:rw`. */
export function parseDevice(text: string): DeviceMapping {
  const [local = "", target, permissions, ...rest] = text.split(":");
  if (rest.length > 0 || !local.startsWith("/") || (target !== undefined && !target.startsWith("/"))) {
    throw new InvalidArgumentError("Write LOCAL, LOCAL:TARGET or LOCAL:TARGET:rw with absolute paths.");
  }
  return { local, ...(target !== undefined && { target }), ...(permissions !== undefined && { permissions }) };
}

/** Parses a size of memory and swap together, or `-1` for no limit. */
export function parseSwap(text: string): number {
  return text.trim() === String(UNLIMITED_SWAP) ? UNLIMITED_SWAP : parseSize(text);
}

/** Parses a number of bytes: `500000`, `50MB` (decimal) or `256MiB` (binary). */
export function parseSize(text: string): number {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]{0,3})$/.exec(text.trim());
  const factor = SIZE_FACTORS[match?.[2] || "B"];
  const bytes = Math.round(Number(match?.[1]) * (factor ?? Number.NaN));
  if (!Number.isSafeInteger(bytes)) {
    throw new InvalidArgumentError("Write a size such as 50MB (50,000,000 bytes) or 256MiB (268,435,456 bytes).");
  }
  return bytes;
}
