/** Longer lines are cut, in characters. */
const MAX_LINE_LENGTH = 4_000;

/** The last lines of the agent's own log, in memory, for devices without a journal. */
export class LogRing {
  readonly #lines: string[] = [];
  readonly #listeners = new Set<(line: string) => void>();
  readonly #maxLines: number;

  constructor(maxLines: number = 500) {
    this.#maxLines = maxLines;
  }

  /** Adds one line of the logger. */
  write(line: string): void {
    const text = line.trimEnd().slice(0, MAX_LINE_LENGTH);
    this.#lines.push(text);
    if (this.#lines.length > this.#maxLines) this.#lines.shift();
    for (const listener of this.#listeners) listener(text);
  }

  /** Returns the last `count` lines, oldest first. */
  last(count: number): string[] {
    return count <= 0 ? [] : this.#lines.slice(-count);
  }

  /** Calls `listener` with each new line, until disposed. */
  onLine(listener: (line: string) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }
}
