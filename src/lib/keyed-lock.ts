import { Semaphore } from "./semaphore.ts";

/** A mutex per key, granted in order of arrival. Keys that are not in use take no memory. */
export class KeyedLock {
  readonly #locks = new Map<string, { readonly semaphore: Semaphore; users: number }>();

  /** Resolves to a lease, released on disposal. Rejects with the signal's reason when aborted while waiting. */
  async acquire(key: string, signal?: AbortSignal): Promise<Disposable> {
    const lock = this.#locks.get(key) ?? { semaphore: new Semaphore(1), users: 0 };
    this.#locks.set(key, lock);
    lock.users++;
    const removeUser = (): void => {
      if (--lock.users === 0) this.#locks.delete(key);
    };
    try {
      const lease = await lock.semaphore.acquire(signal);
      return {
        [Symbol.dispose]() {
          lease[Symbol.dispose]();
          removeUser();
        },
      };
    } catch (error) {
      removeUser();
      throw error;
    }
  }
}
