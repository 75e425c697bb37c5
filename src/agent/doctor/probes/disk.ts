import { statfs } from "node:fs/promises";
import { formatBytes } from "../../../lib/terminal/bytes.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { bad, configOf, good, type Probe, warning } from "../probe.ts";

const MIN_FREE_INODES = 2_000;
/** Below that the agent's own store may not be able to grow. */
const STATE_RESERVE_BYTES = 5_000_000;

/** Space and inodes are left where the engine keeps images, and where the agent keeps its state. */
export const probeDisk: Probe = async (patient, signal) => {
  const { state_dir: stateDir, deploy } = configOf(patient);
  const dataRoot = await patient.engine.info(signal).then(
    (info) => info.dataRoot,
    () => undefined,
  );
  const places = [
    { path: stateDir, reserve: STATE_RESERVE_BYTES },
    ...(dataRoot ? [{ path: dataRoot, reserve: deploy.disk_reserve_bytes }] : []),
  ];
  const verdicts = await Promise.all(places.map(({ path, reserve }) => look(path, reserve)));
  return (
    verdicts.find(({ verdict }) => verdict === "bad") ??
    verdicts.find(({ verdict }) => verdict === "warning") ??
    all(verdicts)
  );
};

async function look(path: string, reserve: number): Promise<CheckResult> {
  const seen = await statfs(path).catch(() => undefined);
  // What is not there is another check's affair.
  if (!seen) return good(`${path} cannot be seen.`);
  const free = seen.bavail * seen.bsize;
  const text = `${formatBytes(free)} free at ${path}`;
  if (free < reserve) {
    return bad(
      `${text}, and ${formatBytes(reserve)} are held in reserve.`,
      `Free space there: docker system df shows what images take; see also journalctl --disk-usage.`,
    );
  }
  // Some file systems have no fixed number of inodes and say 0.
  if (seen.files > 0 && seen.ffree < MIN_FREE_INODES) {
    return bad(
      `${path} has ${seen.ffree} inodes left.`,
      "Remove what made so many small files; free bytes do not help.",
    );
  }
  return free < reserve * 2 ? warning(`${text}.`, "It will soon be too little for another image.") : good(`${text}.`);
}

function all(verdicts: readonly CheckResult[]): CheckResult {
  return good(verdicts.map(({ text }) => text).join(" "));
}
