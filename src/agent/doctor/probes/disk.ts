import { statfs } from "node:fs/promises";
import { formatBytes } from "../../../lib/terminal/bytes.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { MIN_FREE_INODES } from "../../core/deployment/check.ts";
import { bad, settingsOf, good, type Probe, warning } from "../probe.ts";

/** Below this, the agent's store may be unable to grow. */
const STATE_RESERVE_BYTES = 5_000_000;

/** There are free bytes and inodes for the engine's images and the agent's state. */
export const probeDisk: Probe = async (context, signal) => {
  const { state_dir: stateDir, deploy } = settingsOf(context);
  const dataRoot = await context.engine.info(signal).then(
    (info) => info.dataRoot,
    () => undefined,
  );
  const places = [
    // Whether the state can be written is tried by another check, and is what the agent goes by.
    { path: stateDir, reserve: STATE_RESERVE_BYTES, judge: warning, next: `df -h ${stateDir}` },
    ...(dataRoot
      ? [
          {
            path: dataRoot,
            reserve: deploy.disk_reserve_bytes,
            judge: bad,
            next: "sudo docker system df shows what images take",
          },
        ]
      : []),
  ];
  const verdicts = await Promise.all(places.map(checkSpace));
  return (
    verdicts.find(({ verdict }) => verdict === "bad") ??
    verdicts.find(({ verdict }) => verdict === "warning") ??
    joinTexts(verdicts)
  );
};

interface DiskSpace {
  readonly path: string;
  /** Bytes. */
  readonly reserve: number;
  /** What it counts as to have less. */
  readonly judge: typeof bad;
  readonly next: string;
}

async function checkSpace({ path, reserve, judge, next }: DiskSpace): Promise<CheckResult> {
  const stats = await statfs(path).catch(() => undefined);
  // A missing path is reported by another check.
  if (!stats) return good(`${path} cannot be seen.`);
  const free = stats.bavail * stats.bsize;
  const text = `${formatBytes(free)} free at ${path}`;
  if (free < reserve) {
    return judge(
      `${text}, and ${formatBytes(reserve)} are held in reserve.`,
      `Free space there: ${next}; see also journalctl --disk-usage.`,
    );
  }
  // File systems without a fixed number of inodes report 0.
  if (stats.files > 0 && stats.ffree < MIN_FREE_INODES) {
    return judge(
      `${path} has ${stats.ffree} inodes left.`,
      "Remove what made so many small files; free bytes do not help.",
    );
  }
  return free < reserve * 2 ? warning(`${text}.`, "It will soon be too little for another image.") : good(`${text}.`);
}

function joinTexts(verdicts: readonly CheckResult[]): CheckResult {
  return good(verdicts.map(({ text }) => text).join(" "));
}
