const MAX_LINE_LENGTH = 500;

/** Cuts the text of one output stream into lines, holding no more of a line than is kept of it. */
class LineCutter {
  readonly #decoder = new TextDecoder();
  readonly #emit: (line: string) => void;
  #line = "";
  #open = false;

  constructor(emit: (line: string) => void) {
    this.#emit = emit;
  }

  write(bytes: Uint8Array): void {
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  end(): void {
    this.#take(this.#decoder.decode());
    if (this.#open) this.#flush();
  }

  #take(text: string): void {
    const [first, ...others] = text.split("\n") as [string, ...string[]];
    this.#append(first);
    for (const part of others) {
      this.#flush();
      this.#append(part);
    }
  }

  #append(text: string): void {
    if (text === "") return;
    this.#open = true;
    this.#line = (this.#line + text).slice(0, MAX_LINE_LENGTH + 1);
  }

  #flush(): void {
    const line = this.#line.replace(/\r$/, "").slice(0, MAX_LINE_LENGTH);
    this.#line = "";
    this.#open = false;
    this.#emit(line);
  }
}

/** The last `keep` lines of a container's output, in the order in which they were completed. See `eachLogLine`. */
export async function readLogLines(stream: AsyncIterable<Uint8Array>, raw: boolean, keep: number): Promise<string[]> {
  const lines: string[] = [];
  await eachLogLine(stream, raw, (line) => {
    lines.push(line);
    if (lines.length > keep) lines.shift();
  });
  return lines;
}

/**
 * Reads container output into lines of at most 500 characters, in the order in which they were completed. Bytes that
 * are not UTF-8 become replacement characters.
 *
 * @param raw whether the container has a terminal: then the output comes as it is, otherwise in frames that say which
 *   of the two output streams they belong to
 */
export async function eachLogLine(
  stream: AsyncIterable<Uint8Array>,
  raw: boolean,
  emit: (line: string) => void,
): Promise<void> {
  const cutters = new Map<number, LineCutter>();
  const write = (source: number, bytes: Uint8Array): void => {
    const cutter = cutters.get(source) ?? new LineCutter(emit);
    cutters.set(source, cutter);
    cutter.write(bytes);
  };
  const demultiplexer = new Demultiplexer(write);
  for await (const chunk of stream) {
    if (raw) write(0, chunk);
    else demultiplexer.write(chunk);
  }
  for (const cutter of cutters.values()) cutter.end();
}

const HEADER_LENGTH = 8;

/** Takes apart frames of one byte of source, three of nothing, four of length (big endian), and as many of content. */
class Demultiplexer {
  readonly #write: (source: number, bytes: Uint8Array) => void;
  readonly #header = new Uint8Array(HEADER_LENGTH);
  #headerLength = 0;
  #remaining = 0;

  constructor(write: (source: number, bytes: Uint8Array) => void) {
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
    this.#write(this.#header[0] ?? 0, content);
    return bytes.subarray(content.length);
  }

  #headerBytes(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, HEADER_LENGTH - this.#headerLength);
    this.#header.set(part, this.#headerLength);
    this.#headerLength += part.length;
    if (this.#headerLength === HEADER_LENGTH) {
      this.#headerLength = 0;
      this.#remaining = new DataView(this.#header.buffer).getUint32(4);
    }
    return bytes.subarray(part.length);
  }
}
