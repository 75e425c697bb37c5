import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import { LayoutError } from "./layer-layout.ts";

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Closing braces that are tried as the end of an element before it is read byte by byte. */
const MAX_TRIES = 4;
/**
 * What tries that fail may cost in a table, in bytes that are read in vain: then all of it is read byte by byte. Tries are for
 * tables whose elements contain few braces.
 */
const MAX_WASTED_BYTES = 4 * 1024 * 1024;
/** What a failed try costs besides its bytes: most of all its error. */
const WASTED_PER_TRY = 2 * 1024;
const SPACE = 0x20;

/** A value of the root object, or an element if the value is an array. */
export interface JsonValue {
  readonly key: string;
  readonly value: unknown;
}

/**
 * Reads a JSON object as a stream, so that an array of a million elements is never in memory. Malformed text is an error, at
 * the latest at its end.
 */
export class JsonValues {
  readonly #maxValueBytes: number;
  /** Of the value's containers: 1 in the root object, 2 in an array of it. More is within a value. */
  #depth = 0;
  #isInArray = false;
  #isString = false;
  #isEscaped = false;
  #isEnded = false;
  #key: string | undefined;
  /** The elements of an array have been read; its own text is nowhere. */
  #isArrayRead = false;
  /** The element before the next comma has been read. */
  #isElementRead = false;
  #isAfterComma = false;
  #wastedBytes = 0;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;

  constructor(maxValueBytes: number) {
    this.#maxValueBytes = maxValueBytes;
  }

  /** @throws {LayoutError} */
  *read(bytes: Uint8Array): Generator<JsonValue> {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let start = 0;
    /** Nothing but spaces stands between `start` and this byte. */
    let isBlank = true;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === OPEN_OBJECT && isBlank && this.#isElementStart()) {
        const element = this.#wholeElement(chunk, at);
        if (element !== undefined) {
          yield { key: this.#key ?? "", value: element.value };
          this.#isElementRead = true;
          start = element.end;
          at = element.end - 1;
          continue;
        }
      }
      if (byte > SPACE) isBlank = false;
      if (this.#isString) this.#readString(byte);
      else if (byte === QUOTE) this.#isString = true;
      else if (this.#isStructure(byte)) {
        const value = this.#structure(byte, this.#take(chunk.subarray(start, at)));
        if (value !== undefined) yield value;
        start = at + 1;
        isBlank = true;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth++;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth--;
    }
    this.#keep(chunk.subarray(start));
  }

  /** @throws {LayoutError} if the object is not complete, or something follows it */
  end(): void {
    if (!this.#isEnded || this.#take(new Uint8Array()).trim() !== "") throw malformed();
  }

  #readString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isString = false;
  }

  /** Whether a byte outside of strings separates the values that are returned. */
  #isStructure(byte: number): boolean {
    const isClose = byte === CLOSE_OBJECT || byte === CLOSE_ARRAY;
    if (this.#isInArray) return this.#depth === 2 && (isClose || byte === COMMA);
    if (this.#depth === 0) return byte === OPEN_OBJECT || byte === OPEN_ARRAY || isClose;
    if (this.#depth !== 1) return false;
    return isClose || byte === COMMA || byte === OPEN_ARRAY || (byte === COLON && this.#key === undefined);
  }

  /** @param text what stands between this byte and the one before */
  #structure(byte: number, text: string): JsonValue | undefined {
    const isBlank = text.trim() === "";
    if (this.#depth === 0) return this.#open(byte === OPEN_OBJECT && isBlank && !this.#isEnded);
    const isEmpty = isBlank && !this.#isAfterComma && byte !== COMMA;
    if (this.#isInArray) {
      const value = (isBlank && this.#isElementRead) || isEmpty ? undefined : this.#value(text);
      this.#endValue(byte, CLOSE_ARRAY);
      return value;
    }
    if (byte === COLON) return void (this.#key = String(parse(text)));
    if (byte === OPEN_ARRAY) return this.#openArray(isBlank);
    const isNothing = (isBlank && this.#isArrayRead) || (isEmpty && this.#key === undefined);
    const value = isNothing ? undefined : this.#value(text);
    this.#key = undefined;
    this.#isArrayRead = false;
    this.#endValue(byte, CLOSE_OBJECT);
    return value;
  }

  /** Whether an element may begin here, all of which may be at hand. */
  #isElementStart(): boolean {
    return this.#isInArray && this.#depth === 2 && !this.#isString && !this.#isElementRead && this.#keptBytes === 0;
  }

  /**
   * The object that begins here and its end, if the chunk has all of it. Searching it and parsing it are native, and so much
   * faster than reading its bytes; what parses is the object, since no object is the beginning of another one.
   */
  #wholeElement(chunk: Buffer, start: number): { readonly value: unknown; readonly end: number } | undefined {
    let end = start;
    for (let tries = 0; tries < MAX_TRIES && this.#wastedBytes < MAX_WASTED_BYTES; tries++) {
      end = chunk.indexOf(CLOSE_OBJECT, end) + 1;
      if (end === 0) return undefined;
      try {
        return { value: parseBoundedJson(chunk.subarray(start, end), "toc_entry"), end };
      } catch {
        // A brace within the object, or an object that is too large, which is read again with the reason.
        this.#wastedBytes += end - start + WASTED_PER_TRY;
      }
    }
    return undefined;
  }

  #open(isValid: boolean): undefined {
    if (!isValid) throw malformed();
    this.#depth = 1;
  }

  #openArray(isBlank: boolean): undefined {
    if (this.#key === undefined || !isBlank || this.#isArrayRead) throw malformed();
    this.#depth = 2;
    this.#isInArray = true;
    this.#isAfterComma = false;
  }

  /** @param close what ends the values, if it is no comma */
  #endValue(byte: number, close: number): void {
    this.#isElementRead = false;
    this.#isAfterComma = byte === COMMA;
    if (byte === COMMA) return;
    if (byte !== close) throw malformed();
    this.#depth--;
    this.#isArrayRead = this.#isInArray;
    this.#isInArray = false;
    this.#isEnded = this.#depth === 0;
  }

  #value(text: string): JsonValue {
    if (this.#key === undefined || this.#isElementRead || (this.#isArrayRead && !this.#isInArray)) throw malformed();
    return { key: this.#key, value: parse(text) };
  }

  #keep(text: Uint8Array): void {
    if (text.length === 0) return;
    this.#keptBytes += text.length;
    if (this.#keptBytes > this.#maxValueBytes) throw new LayoutError("a value in the table of contents is too long");
    this.#kept.push(text);
  }

  #take(text: Uint8Array): string {
    this.#keep(text);
    const whole = this.#kept.length === 1 ? this.#kept[0] : Buffer.concat(this.#kept);
    this.#kept = [];
    this.#keptBytes = 0;
    return Buffer.from(whole ?? text).toString("utf8");
  }
}

function parse(text: string): unknown {
  try {
    return parseBoundedJson(text, "toc_entry");
  } catch (error) {
    if (error instanceof JsonLimitError) throw new LayoutError(`a value in the table of contents ${error.message}`);
    throw malformed(error);
  }
}

function malformed(cause?: unknown): LayoutError {
  return new LayoutError("the table of contents is not valid JSON", { cause });
}
