import type { HostPort } from "./host-port.ts";

/** A listening socket; with UDP, one that is not connected to a peer. */
export interface ListeningPort extends HostPort {
  /** Local address; `0.0.0.0` and `::` mean all. */
  readonly address: string;
  /** Id of the user that owns the socket. */
  readonly uid: number;
  readonly inode: number;
}

// The kernel's numbers of TCP states: LISTEN; an unconnected UDP socket has the number of CLOSE.
const WAITING_STATE = { tcp: "0A", udp: "07" } as const;

/**
 * Reads the listening sockets from `/proc/net/tcp`, `udp`, `tcp6` or `udp6`. Skips lines of another form, such as the
 * header.
 */
export function parseProcNet(text: string, protocol: HostPort["protocol"]): ListeningPort[] {
  return text.split("\n").flatMap((line) => parseLine(line, protocol) ?? []);
}

function parseLine(line: string, protocol: HostPort["protocol"]): ListeningPort | undefined {
  // sl, local_address, rem_address, st, tx_queue:rx_queue, tr:tm->when, retrnsmt, uid, timeout, inode
  const fields = line.trim().split(/\s+/);
  const [local, state, uid, inode] = [fields[1], fields[3], fields[7], fields[9]];
  const match = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(local ?? "");
  if (!match || state !== WAITING_STATE[protocol]) return undefined;
  if (!/^\d+$/.test(uid ?? "") || !/^\d+$/.test(inode ?? "")) return undefined;
  const [, hexAddress = "", hexPort = ""] = match;
  const [address, port] = [parseAddress(hexAddress), Number.parseInt(hexPort, 16)];
  return { address, port, protocol, uid: Number(uid), inode: Number(inode) };
}

/**
 * The kernel prints an address as 32-bit words in the machine's byte order; all supported machines are little endian.
 */
function parseAddress(hex: string): string {
  const bytes: number[] = [];
  for (let word = 0; word < hex.length; word += 8) {
    for (let byte = 6; byte >= 0; byte -= 2) bytes.push(Number.parseInt(hex.slice(word + byte, word + byte + 2), 16));
  }
  return bytes.length === 4 ? bytes.join(".") : formatIpv6(bytes);
}

/** Formats an address by RFC 5952, without the dotted form of mapped addresses. */
function formatIpv6(bytes: readonly number[]): string {
  const groups: string[] = [];
  for (let i = 0; i < bytes.length; i += 2) groups.push((((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)).toString(16));
  const text = groups.join(":");
  const zeros = [...text.matchAll(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g)];
  const longest = zeros.toSorted((a, b) => b[0].length - a[0].length)[0];
  if (!longest) return text;
  const before = text.slice(0, longest.index).replace(/:$/, "");
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, "");
  return `${before}::${after}`;
}
