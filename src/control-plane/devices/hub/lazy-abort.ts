/** An `AbortController` that costs next to nothing until its signal is used: thousands of idle sessions have one. */
export class LazyAbort {
  #isAborted = false;
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#isAborted;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort();
    return this.#controller.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort();
  }
}
