import { Semaphore } from "./semaphore.ts";

/** Lets one holder in per key; the others wait in order of arrival. Keys nobody holds or waits for take no memory. */
export class KeyedLock {
  readonly #locks = new Map<string, { readonly semaphore: Semaphore; users: number }>();

  /** Resolves to a holder to dispose of. Rejects with the signal's reason when aborted while waiting. */
  async acquire(key: string, signal?: AbortSignal): Promise<Disposable> {
    const lock = this.#locks.get(key) ?? { semaphore: new Semaphore(1), users: 0 };
    this.#locks.set(key, lock);
    lock.users++;
    const leave = (): void => {
      if (--lock.users === 0) this.#locks.delete(key);
    };
    try {
      const holder = await lock.semaphore.acquire(signal);
      return {
        [Symbol.dispose]() {
          holder[Symbol.dispose]();
          leave();
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }
}
