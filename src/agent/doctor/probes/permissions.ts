import { access, constants, stat } from "node:fs/promises";
import type { Exposure } from "../../core/exposure.ts";
import type { Verdict } from "../../core/doctor.ts";
import { findExposedFiles } from "../../host/exposed-files.ts";
import { bad, configOf, good, type Probe, warning } from "../probe.ts";

/** How many commands to mend permissions are shown at once. */
const MAX_SHOWN = 5;

/** Nobody else can read the token or the state, nor change what the agent goes by; and the state can be written. */
export const probePermissions: Probe = async (patient) => {
  const config = configOf(patient);
  const state = await stat(config.state_dir).catch(() => undefined);
  if (state && !state.isDirectory()) {
    return bad(`${config.state_dir} is no directory.`, "Set state_dir to a directory.");
  }
  const exposed = findExposedFiles(config);
  if (exposed.length > 0) return describe(exposed);
  if (!state) return good(`${config.state_dir} does not exist yet; the agent makes it.`);
  try {
    await access(config.state_dir, constants.W_OK | constants.R_OK);
  } catch {
    // Somebody else than the service may look here without the right to write.
    return state.uid === process.getuid?.()
      ? bad(
          `${config.state_dir} cannot be written.`,
          `Is the file system mounted read-only? mount | grep " / ", and dmesg for errors of the disk.`,
        )
      : good(`${config.state_dir} belongs to another user; run as root to look into it.`);
  }
  return good("The token and the state are private, and the state can be written.");
};

function describe(exposed: readonly Exposure[]): Verdict {
  const grave = exposed.filter(({ isMinor }) => !isMinor);
  const [first, ...others] = grave.length > 0 ? grave : exposed;
  const more = others.length > 0 ? ` And ${others.length} more of this kind.` : "";
  const commands = [first, ...others].slice(0, MAX_SHOWN).map((exposure) => exposure?.next ?? "");
  return (grave.length > 0 ? bad : warning)(`${first?.text ?? ""}${more}`, commands.join("; "));
}
