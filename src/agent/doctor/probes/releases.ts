import { readdir } from "node:fs/promises";
import { PACKAGE_FOLDER, RELEASES_FOLDER } from "../../../lib/release/paths.ts";
import { readReleases } from "../../../lib/release/releases-state.ts";
import { keysFolder } from "../../../lib/release/trusted-keys.ts";
import { capitalize } from "../../core/text.ts";
import { releaseNotes, runningRelease } from "../../updates/describe.ts";
import { good, type Probe, warning } from "../probe.ts";

/** The device can take releases of the agent, and has set none aside. */
export const probeReleases: Probe = async () => {
  const state = readReleases(RELEASES_FOLDER);
  const notes = releaseNotes(state, runningRelease(process.argv[1] ?? "", RELEASES_FOLDER));
  const keys = await countKeys();
  const about = notes.length > 0 ? `${capitalize(notes.join("; "))}. ` : "";
  if (state.setAside.size > 0)
    return warning(
      `${about}Trusted keys: ${keys ?? 0}.`,
      "Why it was set aside: journalctl -u edge-agent; to try it again: sudo edge-agent releases install LAYOUT --again",
    );
  if (keys === undefined)
    return good(`${about}This device takes no releases; the agent is upgraded as it was installed.`);
  return good(`${about}Signed releases are taken; trusted keys: ${keys}.`);
};

/** `undefined` if there is none. The updater checks more than their number. */
async function countKeys(): Promise<number | undefined> {
  // Without the folder, as where the agent is a container, no release is taken.
  const folder = keysFolder({ packageFolder: PACKAGE_FOLDER, releasesFolder: RELEASES_FOLDER });
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith(".pem")).length || undefined;
}
