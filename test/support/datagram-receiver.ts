import { rmSync } from "node:fs";
import { dlopen } from "node:ffi";

const libc = dlopen(null, {
  socket: { arguments: ["i32", "i32", "i32"], return: "i32" },
  bind: { arguments: ["i32", "pointer", "u32"], return: "i32" },
  recv: { arguments: ["i32", "pointer", "u64", "i32"], return: "i64" },
  close: { arguments: ["i32"], return: "i32" },
}).functions;

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;
const MAX_BYTES = 256 * 1024;

/** A unix datagram socket bound to the path, like those of systemd and the journal. */
export class DatagramReceiver implements Disposable {
  readonly path: string;
  readonly #fd = libc.socket(AF_UNIX, SOCK_DGRAM, 0);

  constructor(path: string) {
    this.path = path;
    // An abstract name has no terminating NUL: the address length delimits it.
    const address = Buffer.from(path.startsWith("@") ? `..\0${path.slice(1)}` : `..${path}\0`);
    address.writeUInt16LE(AF_UNIX);
    if (libc.bind(this.#fd, address, address.length) !== 0) throw new Error(`cannot bind ${path}`);
  }

  /** Returns the next queued datagram as text; `undefined` when there is none. */
  take(): string | undefined {
    const message = Buffer.alloc(MAX_BYTES);
    const length = libc.recv(this.#fd, message, BigInt(message.length), MSG_DONTWAIT);
    return length < 0n ? undefined : message.toString("utf8", 0, Number(length));
  }

  [Symbol.dispose](): void {
    libc.close(this.#fd);
    rmSync(this.path, { force: true });
  }
}
