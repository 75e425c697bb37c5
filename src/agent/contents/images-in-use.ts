/** Images on the device from which downloads take contents. They are not cleaned up meanwhile. */
export class ImagesInUse {
  /** How many downloads use an image, by its id. */
  readonly #users = new Map<string, number>();

  has(imageId: string): boolean {
    return this.#users.has(imageId);
  }

  /** Keeps these images until disposed. */
  hold(imageIds: Iterable<string>): Disposable {
    const held = [...new Set(imageIds)];
    for (const id of held) this.#users.set(id, (this.#users.get(id) ?? 0) + 1);
    return { [Symbol.dispose]: () => this.#release(held.splice(0)) };
  }

  #release(imageIds: readonly string[]): void {
    for (const id of imageIds) {
      const left = (this.#users.get(id) ?? 0) - 1;
      if (left > 0) this.#users.set(id, left);
      else this.#users.delete(id);
    }
  }
}
