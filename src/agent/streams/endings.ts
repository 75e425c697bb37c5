/**
 * What goes on after its stream is over: commands that are being killed. Each counts as a stream, or commands could be
 * started faster than they are killed. The agent waits for them when it stops.
 */
export class Endings {
  readonly #running = new Set<Promise<void>>();

  get size(): number {
    return this.#running.size;
  }

  /** @param work must not reject */
  add(work: Promise<void>): void {
    this.#running.add(work);
    void work.then(() => this.#running.delete(work));
  }

  /** Resolves when nothing goes on. */
  async done(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
