import { existsSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../../lib/error-text.ts";
import { bad, configOf, good, type Probe } from "../probe.ts";

/** The store can be read and is not damaged. */
export const probeStore: Probe = async (context) => {
  const { state_dir: stateDir } = configOf(context);
  if (!existsSync(join(stateDir, "agent.db")))
    return good("There is none yet: the agent has not run here, or this user may not look.");
  try {
    (await context.openStore(stateDir))[Symbol.dispose]();
    return good("It is sound.");
  } catch (error) {
    return bad(
      `${errorText(error)}.`,
      "Restart the agent: it sets a damaged store aside and finds its apps again. If it comes back, the disk is failing.",
    );
  }
};
