import { PrivateEngine, privateEngineUnavailableReason } from "../private-engine.ts";

/** Why an engine for examples cannot be started here; `undefined` if it can. */
export const missingEngine = await privateEngineUnavailableReason();

/** Starts an engine for examples, where the names in their files meet no others, and their apps reach each other. */
export function startExampleEngine(): Promise<PrivateEngine> {
  return PrivateEngine.start({ connectsContainers: true });
}
