import type { TransferProgress } from "./ports.ts";

/** Counts what a pull moves. */
export class Transfer {
  readonly #expected: number;
  readonly #layers = new Map<string, { readonly size: number; done: number }>();
  #received = 0;
  #cuts = 0;

  /** @param expected bytes to download, where that is known beforehand */
  constructor(expected: number = 0) {
    this.#expected = expected;
  }

  /** Counts bytes as they come off the link. */
  received(bytes: number): void {
    this.#received += bytes;
  }

  cut(): void {
    this.#cuts++;
  }

  /** How much there is of a layer that is wanted. */
  layer(digest: string, size: number, done: number): void {
    this.#layers.set(digest, { size, done });
  }

  get progress(): TransferProgress {
    let done = 0;
    let wanted = 0;
    for (const layer of this.#layers.values()) {
      done += layer.done;
      wanted += layer.size;
    }
    return { done, total: Math.max(wanted, this.#expected), received: this.#received, cuts: this.#cuts };
  }
}
