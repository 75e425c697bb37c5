import { readFile } from "node:fs/promises";
import { good, type Probe, warning, bad } from "../probe.ts";

/** The machine has file descriptors left. */
export const probeFiles: Probe = async () => {
  const [used = 0, , max = 0] = (await readFile("/proc/sys/fs/file-nr", "utf8")).trim().split(/\s+/).map(Number);
  const share = used / Math.max(1, max);
  const text = `${used} of ${max > 1e12 ? "as many as needed" : max} are in use.`;
  if (share > 0.95)
    return bad(text, "Find what holds them: ls /proc/*/fd | sort | uniq -c; raise fs.file-max with sysctl.");
  return share > 0.8 ? warning(text, "Find what holds them before they run out.") : good(text);
};
