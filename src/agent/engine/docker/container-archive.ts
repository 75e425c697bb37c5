import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import type Docker from "dockerode";
import { boundHeaders } from "../../../lib/bounded-tar-headers.ts";
import type { DeviceFile } from "../device-files.ts";
import type { OwnerIds } from "../../../protocol/apps/volume-fields.ts";
import type { ImagePath } from "../image-path.ts";
import type { HelperEngine } from "./helper-container.ts";
import { hasStatus } from "./unless-status.ts";
import { parseBoundedJson } from "../../../protocol/values/bounded-json.ts";

/*
 * Reads and writes files of a container that need not run.
 */

// Bits of Go's file mode (io/fs.FileMode).
const DIRECTORY = 2 ** 31;
const LINK = 2 ** 27;
const DEVICE = 2 ** 26;
const NAMED_PIPE = 2 ** 25;
const SOCKET = 2 ** 24;
const CHARACTER_DEVICE = 2 ** 21;
const IRREGULAR = 2 ** 19;
const NEITHER_FILE_NOR_DIRECTORY = LINK | DEVICE | NAMED_PIPE | SOCKET | CHARACTER_DEVICE | IRREGULAR;
const PERMISSIONS = 0o777;
/** The bits of setuid, setgid and sticky, as Go has them and as a mode of Unix has them. */
const SPECIAL_BITS: readonly (readonly [number, number])[] = [
  [2 ** 23, 0o4000],
  [2 ** 22, 0o2000],
  [2 ** 20, 0o1000],
];
/** More symbolic links than this one after the other count as one that leads nowhere. */
const MAX_LINKS = 8;

interface PathStat {
  readonly mode: number;
  readonly linkTarget: string;
}

/** Whether the container has something at a path. A symbolic link that leads nowhere counts with Docker, and not with Podman. */
export async function hasPath(docker: Docker, id: string, path: string, abortSignal: AbortSignal): Promise<boolean> {
  const response = await unlessMissing(docker.getContainer(id).infoArchive({ path, abortSignal }));
  (response as IncomingMessage | undefined)?.resume();
  return response !== undefined;
}

/** Returns the permission bits of what a container has at a path. */
export async function pathMode(docker: Docker, id: string, path: string, abortSignal: AbortSignal): Promise<number> {
  const response = (await docker.getContainer(id).infoArchive({ path, abortSignal })) as unknown as IncomingMessage;
  response.resume();
  return permissions(parseStat(response.headers["x-docker-container-path-stat"]).mode);
}

/** Returns what a container has at a path, symbolic links followed; `undefined` if nothing, also where a link leads nowhere. */
export async function readPath(
  { docker, kind }: Pick<HelperEngine, "docker" | "kind">,
  id: string,
  { path, maxBytes = 0 }: { readonly path: string; readonly maxBytes?: number | undefined },
  abortSignal: AbortSignal,
): Promise<ImagePath | undefined> {
  let at = path;
  for (let links = 0; links < MAX_LINKS; links++) {
    const response = await unlessMissing(docker.getContainer(id).getArchive({ path: at, abortSignal }));
    if (!response) return undefined;
    const archive = response as IncomingMessage;
    try {
      const { mode, linkTarget } = parseStat(archive.headers["x-docker-container-path-stat"]);
      if ((mode & LINK) !== 0 && linkTarget !== at && linkTarget !== "") {
        at = linkTarget;
        continue;
      }
      const first = await readFirstEntry(archive, maxBytes);
      return {
        kind: kindOf(mode),
        mode: permissions(mode),
        owner: kind === "podman" ? undefined : first?.owner,
        content: first?.content,
      };
    } finally {
      // Of a directory, the engine would send everything in it.
      archive.destroy();
    }
  }
  return undefined;
}

/** A directory to make, with its path in the archive. */
export interface DirectoryEntry {
  readonly name: string;
  readonly owner: OwnerIds;
  readonly mode: number;
}

/**
 * Makes directories below a directory of a container, parents first. Fails where something else than a directory is in
 * the way, such as a symbolic link.
 */
export async function writeDirectories(
  docker: Docker,
  id: string,
  { path, entries }: { readonly path: string; readonly entries: readonly DirectoryEntry[] },
  abortSignal: AbortSignal,
): Promise<void> {
  const headers = entries.map(
    ({ name, owner, mode }) => ({ name: `${name}/`, type: "directory", owner, mode }) as const,
  );
  const body = await archiveOf(headers);
  await docker.getContainer(id).putArchive(body, { path, noOverwriteDirNonDir: true, abortSignal });
}

/** Writes files into a directory of a container. */
export async function writeFiles(
  docker: Docker,
  id: string,
  { path, files }: { readonly path: string; readonly files: readonly DeviceFile[] },
  abortSignal: AbortSignal,
): Promise<void> {
  await docker.getContainer(id).putArchive(await archiveOf(files), { path, abortSignal });
}

interface ArchiveEntry extends DirectoryEntry {
  /** Default: a file. */
  readonly type?: "directory";
  /** Default: none. */
  readonly content?: Uint8Array;
}

async function archiveOf(entries: readonly ArchiveEntry[]): Promise<Buffer> {
  const { pack } = await import("tar-stream");
  const archive = pack();
  for (const { name, type = "file", owner, mode, content = new Uint8Array() } of entries)
    archive.entry({ name, type, mode, ...owner, ...largeIds(owner) }, Buffer.from(content));
  archive.finalize();
  return buffer(archive);
}

// The library writes at most this into the fields of a plain header.
const MAX_PLAIN_ID = 0o777777;

function largeIds({ uid, gid }: OwnerIds): { readonly pax?: Record<string, string> } {
  return Math.max(uid, gid) > MAX_PLAIN_ID ? { pax: { uid: String(uid), gid: String(gid) } } : {};
}

/** Of a path below a file, Docker reports an internal error. */
async function unlessMissing<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (hasStatus(error, 404) || (hasStatus(error, 500) && /: not a directory/.test(String(error)))) return undefined;
    throw error;
  }
}

function parseStat(header: string | readonly string[] | undefined): PathStat {
  const text = Buffer.from(typeof header === "string" ? header : "", "base64").toString();
  const { mode, linkTarget } = parseBoundedJson(text, "short") as Partial<PathStat>;
  if (typeof mode !== "number") throw new Error("the engine does not tell what is at a path");
  return { mode, linkTarget: linkTarget ?? "" };
}

async function readFirstEntry(
  archive: IncomingMessage,
  maxBytes: number,
): Promise<{ readonly owner: OwnerIds; readonly content: Uint8Array | undefined } | undefined> {
  const { extract } = await import("tar-stream");
  const entries = boundHeaders(extract());
  archive.on("error", (error) => entries.destroy(error));
  archive.pipe(entries);
  for await (const entry of entries) {
    const { uid, gid, type, size } = entry.header;
    const large = (entry.header.pax ?? {}) as Readonly<Record<string, string>>;
    const owner = { uid: Number(large["uid"] ?? uid), gid: Number(large["gid"] ?? gid) };
    const isRead = type === "file" && size <= maxBytes;
    return { owner, content: isRead ? await buffer(entry) : undefined };
  }
  return undefined;
}

function kindOf(mode: number): ImagePath["kind"] {
  // Bit 31 is beyond the signed numbers of JavaScript's operators.
  if (mode >= DIRECTORY) return "directory";
  return (mode & NEITHER_FILE_NOR_DIRECTORY) === 0 ? "file" : "other";
}

function permissions(mode: number): number {
  let bits = mode & PERMISSIONS;
  for (const [flag, bit] of SPECIAL_BITS) if ((mode & flag) !== 0) bits |= bit;
  return bits;
}
