import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// Daemons are in the sbin folders, which a user's PATH often lacks.
const SYSTEM_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];

/** Returns the path of an executable, searched in the PATH and the system's folders. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":").filter((folder) => folder !== ""), ...SYSTEM_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the path of a statically linked busybox, which runs in an otherwise empty container. */
export function findStaticBusybox(): string | undefined {
  const path = findProgram("busybox");
  return path !== undefined && isStaticExecutable(readFileSync(path)) ? path : undefined;
}

const PT_INTERP = 3;

// A dynamically linked program has a program header of type PT_INTERP (64-bit little-endian ELF).
function isStaticExecutable(file: Buffer): boolean {
  const isElf64 = file.subarray(0, 6).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]));
  if (!isElf64) return false;
  const offset = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  const headers = Array.from({ length: file.readUInt16LE(56) }, (_, index) => file.readUInt32LE(offset + index * size));
  return !headers.includes(PT_INTERP);
}

/** Returns the path of libfaketime, which changes a program's time of day. */
export function findFakeTime(): string | undefined {
  const triplets = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
  return triplets.map((triplet) => `/usr/lib/${triplet}/faketime/libfaketime.so.1`).find((path) => existsSync(path));
}

const POSTGRES_VERSIONS = "/usr/lib/postgresql";

/** Returns the folder with the programs of the newest PostgreSQL server, which Debian keeps out of the search path. */
export function findPostgresFolder(): string | undefined {
  if (!existsSync(POSTGRES_VERSIONS)) return undefined;
  const versions = readdirSync(POSTGRES_VERSIONS).toSorted((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(POSTGRES_VERSIONS, version, "bin"))
    .find((folder) => ["initdb", "postgres"].every((name) => isExecutable(join(folder, name))));
}
