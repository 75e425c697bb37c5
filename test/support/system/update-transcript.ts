const MEGABYTE = 1_000_000;

export const inMegabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(2)} MB`;

/** What happens in an update, line by line, with the time since its beginning and what has come over the link. */
export class UpdateTranscript {
  readonly #received: () => number;
  readonly #lines: string[] = [];
  readonly #start = performance.now();
  readonly #requests = new Map<string, number>();

  /** @param received bytes that have come over the link */
  constructor(received: () => number) {
    this.#received = received;
  }

  /** Counts a request until the next line, which names it. @param blob such as `pack` */
  requested(blob: string): void {
    this.#requests.set(blob, (this.#requests.get(blob) ?? 0) + 1);
  }

  add(text: string): void {
    const requests = [...this.#requests].map(([blob, count]) => (count === 1 ? blob : `${blob} (${count} ranges)`));
    this.#requests.clear();
    if (requests.length > 0) this.#line(`requested: ${requests.join(", ")}`);
    this.#line(text);
  }

  toString(): string {
    return ["", "    time  on the wire", ...this.#lines, ""].join("\n");
  }

  #line(text: string): void {
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(1);
    this.#lines.push(`${seconds.padStart(6)} s  ${inMegabytes(this.#received()).padStart(8)}  ${text}`);
  }
}
