/** The last lines of the agent's own log, in memory: for a person on a machine without a journal. */
export class LogRing {
  readonly #lines: string[] = [];
  readonly #listeners = new Set<(line: string) => void>();
  readonly #maxLines: number;

  constructor(maxLines: number = 500) {
    this.#maxLines = maxLines;
  }

  /** Takes one line, as the logger writes it. */
  write(line: string): void {
    const text = line.trimEnd().slice(0, MAX_LINE_LENGTH);
    this.#lines.push(text);
    if (this.#lines.length > this.#maxLines) this.#lines.shift();
    for (const listener of this.#listeners) listener(text);
  }

  /** The last `count` lines, oldest first. */
  last(count: number): string[] {
    return count <= 0 ? [] : this.#lines.slice(-count);
  }

  /** Calls `listener` with each further line, until disposed. */
  onLine(listener: (line: string) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }
}

const MAX_LINE_LENGTH = 4_000;
