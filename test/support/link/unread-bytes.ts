import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";

/** One line of `/proc/net/tcp`: both addresses, the state, and the bytes to send and to read, all in hexadecimal. */
const LINE = /^\s*\d+: [0-9A-F]{8}:([0-9A-F]{4}) [0-9A-F]{8}:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):([0-9A-F]{8})/;

/**
 * Returns how many bytes that were written to an IPv4 connection of this machine its other end has not read yet, as far as they
 * are in the kernel. What is in another network namespace is not counted.
 */
export async function unreadBytes({ localPort, remotePort }: Socket): Promise<number> {
  let bytes = 0;
  for (const line of (await readFile("/proc/net/tcp", "ascii")).split("\n")) {
    const [, local, remote, toSend, toRead] = LINE.exec(line) ?? [];
    const ports = [Number.parseInt(local ?? "", 16), Number.parseInt(remote ?? "", 16)];
    if (ports[0] === localPort && ports[1] === remotePort) bytes += Number.parseInt(toSend ?? "", 16);
    if (ports[0] === remotePort && ports[1] === localPort) bytes += Number.parseInt(toRead ?? "", 16);
  }
  return bytes;
}
