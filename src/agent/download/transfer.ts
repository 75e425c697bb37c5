import type { TransferProgress } from "./ports.ts";

/** Tracks the progress of a pull. */
export class Transfer {
  readonly #expected: number;
  readonly #layers = new Map<string, { readonly size: number; done: number }>();
  #received = 0;
  #cuts = 0;

  /** @param expected bytes to download, if known beforehand */
  constructor(expected: number = 0) {
    this.#expected = expected;
  }

  /** Counts bytes received from the network. */
  received(bytes: number): void {
    this.#received += bytes;
  }

  /** Counts a transfer that was broken off. */
  cut(): void {
    this.#cuts++;
  }

  /** Sets the bytes present of a requested layer. */
  layer(digest: string, size: number, done: number): void {
    this.#layers.set(digest, { size, done });
  }

  /** Stops waiting for the rest of a layer: it is fetched in another way. */
  giveUp(digest: string): void {
    const layer = this.#layers.get(digest);
    if (layer) this.#layers.set(digest, { size: layer.done, done: layer.done });
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
