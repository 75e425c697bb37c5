import { readFile } from "node:fs/promises";
import { bad, good, type Probe, warning } from "../probe.ts";

/** The kernel has control groups and accounts for memory. */
export const probeCgroups: Probe = async () => {
  const [unified, table] = await Promise.all([read("/sys/fs/cgroup/cgroup.controllers"), read("/proc/cgroups")]);
  if (unified === undefined && table === undefined) {
    return bad("This kernel has no control groups.", "Containers need them: use a kernel that has them.");
  }
  const names = unified?.trim() ? unified.trim().split(/\s+/) : enabled(table ?? "");
  const version = unified === undefined ? 1 : 2;
  if (names.includes("memory")) return good(`Version ${version}, memory is accounted for.`);
  return warning(
    `Version ${version}, but memory is not accounted for: an app that wants too much takes others down with it.`,
    "On a Raspberry Pi add cgroup_enable=memory to /boot/firmware/cmdline.txt and reboot.",
  );
};

function read(path: string): Promise<string | undefined> {
  // Absent with another version of cgroups.
  return readFile(path, "utf8").catch(() => undefined);
}

// Columns: name, hierarchy, number of groups, enabled.
function enabled(table: string): string[] {
  return table.split("\n").flatMap((line) => {
    const [name = "", , , isOn] = line.split("\t");
    return isOn === "1" ? [name] : [];
  });
}
