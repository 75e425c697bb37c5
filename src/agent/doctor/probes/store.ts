import { existsSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../../lib/error-text.ts";
import { capitalize } from "../../core/text.ts";
import { StoreError } from "../../store/store.ts";
import { crashedWorks } from "../../store/crash-guard.ts";
import { bad, good, type Probe, settingsOf, warning } from "../probe.ts";

/** The store can be read and is not damaged. */
export const probeStore: Probe = async (context) => {
  const { state_dir: stateDir } = settingsOf(context);
  if (!existsSync(join(stateDir, "agent.db")))
    return good("There is none yet: the agent has not run here, or this user may not look.");
  try {
    (await context.openStore(stateDir))[Symbol.dispose]();
    return good("It is sound.");
  } catch (error) {
    return bad(
      `${errorText(error)}.`,
      error instanceof StoreError && error.kind === "damaged"
        ? "sudo systemctl restart edge-agent, which sets the damaged store aside and finds its apps again. If it comes back, the disk is failing."
        : "See whether the service's user can write the state directory, and whether its disk fails: sudo dmesg | grep -i error",
    );
  }
};

const NONE = "The agent has crashed during nothing that may crash it again.";

/** The agent has not crashed during anything that may crash it again. */
export const probeCrashes: Probe = async (context) => {
  const { state_dir: stateDir } = settingsOf(context);
  if (!existsSync(join(stateDir, "agent.db"))) return good(NONE);
  using store = await context.openStore(stateDir);
  const texts = crashedWorks(store).map(({ name, text }) => `${text} during the ${name}`);
  if (texts.length === 0) return good(NONE);
  return warning(
    `${capitalize(texts.join("; "))}.`,
    "How it ended: journalctl -u edge-agent. Unless it is done by now, it is tried again after pauses that grow; at once: sudo systemctl restart edge-agent",
  );
};
