import { z } from "zod";
import { normalizePath } from "./normalize-path.ts";
import { utf8ByteLength } from "./utf8-byte-length.ts";

const NUL = "\0";

/** Of a name in a path, on every file system of ours. */
const MAX_NAME_BYTES = 255;

export const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => path.startsWith("/"), "must be an absolute path")
  .refine((path) => !path.split("/").includes(".."), "must not contain a '..' segment")
  .refine((path) => !path.includes(NUL), "must not contain NUL")
  .refine(
    (path) => path.split("/").every((name) => utf8ByteLength(name) <= MAX_NAME_BYTES),
    `must not have a name of more than ${MAX_NAME_BYTES} bytes`,
  );

/** Where engines allow a mount although it is in /proc, as for lxcfs. */
const IN_PROC: ReadonlySet<string> = new Set(
  ["cpuinfo", "diskstats", "meminfo", "stat", "swaps", "uptime", "loadavg", "slabinfo", "net/dev"].map(
    (name) => `/proc/${name}`,
  ),
);

/** A path in the container at which something of the device is mounted. Engines start no container that mounts elsewhere. */
export const mountTarget = absolutePath
  .refine((path) => normalizePath(path) !== "/", "must not be the container's root")
  .refine((path) => {
    const at = normalizePath(path);
    return !at.startsWith("/proc/") || IN_PROC.has(at);
  }, "must not be in /proc, which is the kernel's");
