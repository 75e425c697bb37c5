import { access, constants, stat } from "node:fs/promises";
import { bad, configOf, good, type Probe, warning } from "../probe.ts";

const OTHERS = 0o007;

/** Nobody else can read the token, and the state can be written. */
export const probePermissions: Probe = async (patient) => {
  const config = configOf(patient);
  const secret = config.device_token_file ?? config.path;
  const { mode } = await stat(secret);
  if ((mode & OTHERS) !== 0) {
    return warning(`Every user of this device can read the token in ${secret}.`, `Take that away: chmod o= ${secret}`);
  }
  const state = await stat(config.state_dir).catch(() => undefined);
  if (!state) return good(`${config.state_dir} does not exist yet; the agent makes it.`);
  if (!state.isDirectory()) return bad(`${config.state_dir} is no directory.`, "Set state_dir to a directory.");
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
  return good("The token is private, and the state can be written.");
};
