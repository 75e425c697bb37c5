/** What was done to a system, and when, to reproduce a failure. */
export class History {
  readonly #start = performance.now();
  readonly #lines: string[] = [];

  add(what: string): void {
    this.#lines.push(`${((performance.now() - this.#start) / 1000).toFixed(2).padStart(8)} s  ${what}`);
  }

  get text(): string {
    return this.#lines.join("\n");
  }
}
