import { inUtc } from "../../core/logs/time.ts";
import { type LogLine, MAX_LINE_LENGTH } from "../log.ts";

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** Longer text is not a timestamp. */
const MAX_STAMP_LENGTH = 40;
const TIME = /^\d{4}-\d\d-\d\dT/;

/** Splits one output stream into lines. Buffers at most the part of a line that is kept. */
export class OutputLineSplitter {
  readonly #stream: LogLine["stream"];
  readonly #emit: (line: LogLine) => void;
  readonly #decoder = new TextDecoder();
  #text = "";
  #time = "";
  #isOpen = false;
  /** Bytes of the timestamp that is being read, if any. */
  #stamp: number[] | undefined;

  constructor(stream: LogLine["stream"], emit: (line: LogLine) => void) {
    this.#stream = stream;
    this.#emit = emit;
  }

  /** The next bytes begin with a timestamp and a space. */
  expectTime(): void {
    this.#stamp = [];
  }

  /** @param stampsLines whether every line begins with a timestamp, also without a call of `expectTime` */
  write(bytes: Uint8Array, stampsLines: boolean): void {
    for (let rest = bytes; rest.length > 0;) {
      if (stampsLines && !this.#isOpen) this.#stamp ??= [];
      rest = this.#stamp ? this.#readTime(rest, this.#stamp) : this.#readText(rest);
    }
  }

  end(): void {
    if (this.#stamp?.length) this.#giveUpTime(this.#stamp);
    if (this.#isOpen) this.#flush();
  }

  #readTime(bytes: Uint8Array, stamp: number[]): Uint8Array {
    for (const [index, byte] of bytes.entries()) {
      const isOver = byte === SPACE || byte === NEWLINE || stamp.length === MAX_STAMP_LENGTH;
      if (!isOver) {
        stamp.push(byte);
        continue;
      }
      const text = String.fromCharCode(...stamp);
      if (byte !== SPACE || !TIME.test(text)) {
        this.#giveUpTime(stamp);
        return bytes.subarray(index);
      }
      // A line in parts has the timestamp of its first part.
      if (!this.#isOpen) this.#time = inUtc(text);
      this.#isOpen = true;
      this.#stamp = undefined;
      return bytes.subarray(index + 1);
    }
    return bytes.subarray(bytes.length);
  }

  /** Not a timestamp: treats the bytes as text. */
  #giveUpTime(stamp: readonly number[]): void {
    this.#stamp = undefined;
    this.#isOpen = true;
    this.#append(Uint8Array.from(stamp));
  }

  #readText(bytes: Uint8Array): Uint8Array {
    const end = bytes.indexOf(NEWLINE);
    this.#isOpen = true;
    this.#append(end < 0 ? bytes : bytes.subarray(0, end));
    if (end < 0) return bytes.subarray(bytes.length);
    this.#flush();
    return bytes.subarray(end + 1);
  }

  #append(bytes: Uint8Array): void {
    // Text beyond the limit is decoded too: the chunk may end within a character.
    this.#text = (this.#text + this.#decoder.decode(bytes, { stream: true })).slice(0, MAX_LINE_LENGTH + 2);
  }

  #flush(): void {
    const whole = (this.#text + this.#decoder.decode()).replace(/\r$/, "");
    const [text, truncated] = [whole.slice(0, MAX_LINE_LENGTH), whole.length > MAX_LINE_LENGTH];
    const time = this.#time;
    this.#text = "";
    this.#time = "";
    this.#isOpen = false;
    this.#emit({ stream: this.#stream, time, text, truncated });
  }
}
