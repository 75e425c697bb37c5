import { resolvesHost } from "../../support/images/exec.ts";
import { PrivateEngine, type PrivateEngineOptions } from "../../support/private-engine.ts";
import type { EngineHarness } from "./harness.ts";
import { owningHarness } from "./real-harness.ts";

/** A harness around a Docker that is started for it and ends with it. */
export async function ownDockerHarness(options: PrivateEngineOptions): Promise<EngineHarness> {
  return await owningHarness(await PrivateEngine.start(options), {
    kind: "docker",
    finds: resolvesHost,
  });
}
