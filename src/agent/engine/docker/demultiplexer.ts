const HEADER_LENGTH = 8;

/** Receives a part of a frame's content. `isStart`: the first part of the frame. */
type Write = (source: number, bytes: Uint8Array, isStart: boolean) => void;

/** Splits frames: one byte of source, three unused bytes, four bytes of length (big endian), content. */
export class Demultiplexer {
  readonly #write: Write;
  readonly #header = new Uint8Array(HEADER_LENGTH);
  #headerLength = 0;
  #remaining = 0;
  #isStart = false;

  constructor(write: Write) {
    this.#write = write;
  }

  write(chunk: Uint8Array): void {
    for (let rest = chunk; rest.length > 0;) {
      rest = this.#remaining > 0 ? this.#content(rest) : this.#headerBytes(rest);
    }
  }

  #content(bytes: Uint8Array): Uint8Array {
    const content = bytes.subarray(0, this.#remaining);
    this.#remaining -= content.length;
    this.#write(this.#header[0] ?? 0, content, this.#isStart);
    this.#isStart = false;
    return bytes.subarray(content.length);
  }

  #headerBytes(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, HEADER_LENGTH - this.#headerLength);
    this.#header.set(part, this.#headerLength);
    this.#headerLength += part.length;
    if (this.#headerLength === HEADER_LENGTH) {
      this.#headerLength = 0;
      this.#isStart = true;
      this.#remaining = new DataView(this.#header.buffer).getUint32(4);
    }
    return bytes.subarray(part.length);
  }
}
