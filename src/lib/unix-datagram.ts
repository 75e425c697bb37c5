import { loadLibc } from "./libc.ts";

/** Sends datagrams to unix sockets, as two of systemd's protocols require and Node.js does not support. */
export interface DatagramSender extends Disposable {
  /**
   * Sends one datagram. Does not wait for a receiver whose queue is full.
   *
   * @param path of the receiver's socket; a leading `@` denotes Linux's abstract namespace
   * @returns whether the kernel accepted it: not without a receiver, with a full queue, or above about 200 KiB
   */
  send(path: string, message: Uint8Array): boolean;
}

// Linux on amd64, arm64 and most others. MIPS has other numbers.
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;

const FAMILY_BYTES = 2;
const PATH_BYTES = 108;

/** Opens a sender; `undefined` if this Node.js cannot call the C library or the kernel refuses a socket. */
export function openDatagramSender(): DatagramSender | undefined {
  const libc = loadLibc({
    socket: { arguments: ["i32", "i32", "i32"], return: "i32" },
    sendto: { arguments: ["i32", "pointer", "u64", "i32", "pointer", "u32"], return: "i64" },
    close: { arguments: ["i32"], return: "i32" },
  });
  if (!libc) return undefined;
  const { socket, sendto, close } = libc;
  const fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return undefined;
  let isOpen = true;
  return {
    send(path, message) {
      const address = socketAddress(path);
      if (!isOpen || !address) return false;
      const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
      return sendto(fd, message, BigInt(message.length), flags, address, address.length) === BigInt(message.length);
    },
    [Symbol.dispose]() {
      if (isOpen) close(fd);
      isOpen = false;
    },
  };
}

/** Encodes a `sockaddr_un`; `undefined` if the path is too long. */
function socketAddress(path: string): Uint8Array | undefined {
  const isAbstract = path.startsWith("@");
  const name = Buffer.from(isAbstract ? `\0${path.slice(1)}` : `${path}\0`);
  if (path === "" || name.length > PATH_BYTES) return undefined;
  const address = Buffer.alloc(FAMILY_BYTES + name.length);
  address.writeUInt16LE(AF_UNIX);
  address.set(name, FAMILY_BYTES);
  return address;
}
