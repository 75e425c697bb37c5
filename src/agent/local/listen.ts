import { chmodSync, chownSync, lstatSync, readFileSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { connect } from "node:net";

const MODE = 0o660;

/**
 * Makes the server listen on a unix socket that its owner and a group may use, where there is such a group. A socket that nobody
 * listens on any more is replaced. Rejects when somebody does, when something else is at the path, or when the path
 * cannot be used.
 */
export async function listenLocally(server: Server, path: string, group: string): Promise<void> {
  await removeStale(path);
  // Never open to others, not even between listening and the change of mode.
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
  if (!found.isSocket()) throw new Error(`${path} is in the way: it is no socket`);
  if (await isLive(path)) throw new Error(`another process listens on ${path}`);
  rmSync(path, { force: true });
}

function isLive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const answer = (live: boolean): void => {
      socket.destroy();
      resolve(live);
    };
    socket.once("connect", () => answer(true));
    socket.once("error", (error: NodeJS.ErrnoException) => answer(error.code !== "ECONNREFUSED"));
  });
}

function setGroup(path: string, group: string): void {
  const id = groupId(group);
  if (id === undefined) return;
  try {
    chownSync(path, -1, id);
  } catch {
    // Not a member of the group, and not root: then it is for the own user and its group, until the unit gives it away.
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
