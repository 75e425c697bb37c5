const PREFIX = "data:";

/** A line longer than any event is allowed to be: 1 MiB. */
const MAX_LINE_LENGTH = 1024 * 1024;

/** What came is not a stream of `data:` lines. */
export class StreamFormatError extends Error {
  override readonly name = "StreamGrammarError";
}

/**
 * Reads the deploy stream's grammar: lines, each empty or `data:` followed by one JSON text. Bytes may come cut
 * anywhere, also inside a character. Lines that begin otherwise belong to the wider event-stream format and are passed
 * over.
 */
export class EventLineReader {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** Takes the next bytes. @returns the JSON texts they complete. Errors: `StreamGrammarError` for an endless line */
  push(chunk: Uint8Array): string[] {
    return this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Call at the end. @returns the last line's JSON text, where it was not ended; it may be cut short */
  end(): string | undefined {
    this.#take(this.#decoder.decode());
    const last = dataOf(this.#rest);
    this.#rest = "";
    return last;
  }

  #take(text: string): string[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_LENGTH) throw new StreamFormatError("a line of the stream is too long");
    return lines.map(dataOf).filter((data) => data !== undefined);
  }
}

function dataOf(line: string): string | undefined {
  if (!line.startsWith(PREFIX)) return undefined;
  const data = line.slice(PREFIX.length).trim();
  return data === "" ? undefined : data;
}
