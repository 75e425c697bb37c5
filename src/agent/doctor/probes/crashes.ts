import { existsSync } from "node:fs";
import { join } from "node:path";
import { capitalize } from "../../core/text.ts";
import { crashedWorks } from "../../store/crash-guard.ts";
import { configOf, good, type Probe, warning } from "../probe.ts";

const NONE = "The agent has crashed during nothing that may crash it again.";

/** The agent has not crashed during anything that may crash it again. */
export const probeCrashes: Probe = async (context) => {
  const { state_dir: stateDir } = configOf(context);
  if (!existsSync(join(stateDir, "agent.db"))) return good(NONE);
  using store = await context.openStore(stateDir);
  const texts = crashedWorks(store).map(({ name, text }) => `${text} during the ${name}`);
  if (texts.length === 0) return good(NONE);
  return warning(
    `${capitalize(texts.join("; "))}.`,
    "How it ended: journalctl -u edge-agent. Unless it is done by now, it is tried again after pauses that grow; at once: sudo systemctl restart edge-agent",
  );
};
