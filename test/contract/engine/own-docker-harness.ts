import { PrivateEngine, type PrivateEngineOptions } from "../../support/private-engine.ts";
import type { EngineHarness } from "./harness.ts";
import { realHarness } from "./real-harness.ts";

/** A harness around a Docker that is started for it and ends with it. */
export async function ownDockerHarness(options: PrivateEngineOptions): Promise<EngineHarness> {
  const own = await PrivateEngine.start(options);
  try {
    const { socketPath } = own;
    const harness = await realHarness({ kind: "docker", socketPath, checkHealth: async () => {} });
    const dispose = async (): Promise<void> => {
      await harness[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    };
    return { ...harness, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await own[Symbol.asyncDispose]();
    throw error;
  }
}
