import type { System } from "../system.ts";
import { sharedSystem } from "../system/test-system.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../private-engine.ts";

/** Why an engine for examples cannot be started here; `undefined` if it can. */
export const missingEngine = await privateEngineUnavailableReason();

/**
 * A system for the tests of one file whose device allows remote access, with an engine of its own, where the names in the
 * files of examples meet no others, and their apps reach each other.
 */
export function sharedExampleSystem(): () => System {
  return sharedSystem(async (owned) => ({
    engine: owned.use(await PrivateEngine.start({ connectsContainers: true })),
    agentConfig: { policy: { remote_access: "exec" } },
  }));
}
