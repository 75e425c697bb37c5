import { orAborted } from "../../../lib/abort.ts";

interface SharedCall<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/** Equal calls at the same time are one. It is aborted when all who wait for it have given up. */
export class SharedCalls<T> {
  readonly #going = new Map<string, SharedCall<T>>();

  /** Returns the result of the call of this key that goes on, or of `start`. Rejects with the signal's reason when it aborts. */
  async run(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const call = this.#going.get(key) ?? this.#start(key, start);
    call.waiting++;
    try {
      return await orAborted(call.result, signal);
    } finally {
      if (--call.waiting === 0) {
        this.#forget(key, call);
        call.controller.abort(new Error("no caller waits for the answer"));
      }
    }
  }

  /** New callers do not join the calls that go on now: their results may be out of date. */
  separate(): void {
    this.#going.clear();
  }

  #start(key: string, start: (signal: AbortSignal) => Promise<T>): SharedCall<T> {
    const controller = new AbortController();
    const call = { result: start(controller.signal), controller, waiting: 0 };
    this.#going.set(key, call);
    // Also handles a rejection after all callers have given up.
    const forget = (): void => this.#forget(key, call);
    call.result.then(forget, forget);
    return call;
  }

  #forget(key: string, call: SharedCall<T>): void {
    if (this.#going.get(key) === call) this.#going.delete(key);
  }
}
