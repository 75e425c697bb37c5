import { chmodSync, chownSync, lstatSync, readFileSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { connect } from "node:net";

const MODE = 0o660;

/**
 * Makes the server listen on a unix socket for its owner and, if it exists, a group. Replaces a stale socket. Rejects
 * if another process listens on it, if the path is not a socket, or if it cannot be used.
 */
export async function listenLocally(server: Server, path: string, group: string): Promise<void> {
  await removeStale(path);
  // Others never have access, not even between `listen` and `chmod`.
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } finally {
    process.umask(before);
  }
  setGroup(path, group);
  chmodSync(path, MODE);
}

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isSocket()) throw new Error(`${path} exists and is not a socket`);
  if (await isLive(path)) throw new Error(`another process listens on ${path}`);
  rmSync(path, { force: true });
}

function isLive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (live: boolean): void => {
      socket.destroy();
      resolve(live);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", (error: NodeJS.ErrnoException) => settle(error.code !== "ECONNREFUSED"));
  });
}

function setGroup(path: string, group: string): void {
  const id = groupId(group);
  if (id === undefined) return;
  try {
    chownSync(path, -1, id);
  } catch {
    // Neither root nor a member of the group: the socket keeps the group of this process.
  }
}

function groupId(name: string): number | undefined {
  try {
    const line = readFileSync("/etc/group", "utf8")
      .split("\n")
      .find((entry) => entry.startsWith(`${name}:`));
    return line === undefined ? undefined : Number(line.split(":")[2]);
  } catch {
    return undefined;
  }
}
