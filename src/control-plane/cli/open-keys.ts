import { systemClock } from "../../lib/clock.ts";
import { KeyFileError } from "../sealing/key-file.ts";
import { openSealer } from "../sealing/open-sealer.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { Store } from "../store/store.ts";
import { type AdministrationOptions, requireKeyFile } from "./administration.ts";
import { ServiceCommandError } from "./context.ts";

/** Opens the keys that seal credentials. Throws `CommandError` if they cannot be used. */
export async function openKeys(store: Store, options: AdministrationOptions): Promise<Sealer> {
  try {
    return await openSealer(requireKeyFile(options), store, systemClock);
  } catch (error) {
    if (error instanceof KeyFileError) throw new ServiceCommandError(error.message);
    throw error;
  }
}
