import { EdgeError } from "../../../protocol/errors.ts";

/** What a device answers right now, or what is remembered of it where it cannot be reached. */
export interface LiveOrStored<T> {
  readonly live: boolean;
  readonly value: T;
}

/** Asks, and where that ends in `DeviceNotReachable` answers what `recall` does. Throws every other error. */
export async function liveOrStored<T>(ask: () => Promise<T>, recall: () => Promise<T>): Promise<LiveOrStored<T>> {
  try {
    return { live: true, value: await ask() };
  } catch (error) {
    if (!(error instanceof EdgeError) || error.code !== "DeviceNotReachable") throw error;
    return { live: false, value: await recall() };
  }
}
