import { readdir, readFile, stat, statfs } from "node:fs/promises";
import { userInfo } from "node:os";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { bindsOf } from "../../../protocol/apps/volume-fields.ts";
import type { AppRecord } from "../../core/records.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { failedDiskAdvice, findFailedDisk } from "../../core/host/disk-fault.ts";
import { describeDiskFault } from "../../core/host/disk-fault.ts";
import { isVolatile } from "../../core/host/missing-mount.ts";
import { findUnmounted, findMount, type MountEntry, parseFstab } from "../../core/policy/mountinfo.ts";
import { bad, good, installedApps, type Probe, type ProbeContext, warning } from "../probe.ts";

/** Results that are shown at once. */
const MAX_SHOWN = 3;

interface Mounts {
  readonly now: readonly MountEntry[];
  /** Mount points of `/etc/fstab`. */
  readonly atBoot: readonly string[];
}

/** What apps mount is there, on disks that are mounted, can be written and have room. */
export const probeVolumes: Probe = async (context, signal) => {
  const apps = await installedApps(context);
  // Without the file nothing is mounted at boot.
  const [now, fstab] = await Promise.all([context.host.readMounts(), readFile("/etc/fstab", "utf8").catch(() => "")]);
  const mounts = { now, atBoot: parseFstab(fstab) };
  const results = await Promise.all(apps.map((app) => checkApp(app, mounts, context, signal)));
  const faults = results.flat().toSorted((a, b) => Number(b.verdict === "bad") - Number(a.verdict === "bad"));
  if (faults.length > 0) return joined(faults);
  const count = apps.flatMap(({ spec }) => bindsOf(spec)).length;
  return good(count === 0 ? "No app mounts a directory of the device." : `What apps mount is there: ${count}.`);
};

async function checkApp(
  app: AppRecord,
  mounts: Mounts,
  { engine }: ProbeContext,
  signal: AbortSignal,
): Promise<CheckResult[]> {
  const found = await Promise.all(bindsOf(app.spec).map((bind) => findFault(app.name, bind, mounts)));
  const faults = found.filter((fault) => fault !== undefined);
  if (!faults.some(({ isGone }) => isGone)) return faults.map(({ text, next }) => warning(text, next));
  // An engine that does not answer is the fault of another check; its apps count as down here.
  const container = await engine.inspectContainer(app.containerId, signal).catch(() => undefined);
  // An app that runs has what it started with, unless its disk is lost to it too.
  const isDown = app.desired !== "stopped" && container?.status !== "running";
  const isLost = findFailedDisk(app.spec, mounts.now) !== undefined;
  return faults.map(({ text, next, isGone }) => (isGone && (isDown || isLost) ? bad : warning)(text, next));
}

interface Fault {
  readonly text: string;
  readonly next: string;
  /** Whether the app cannot start without it. */
  readonly isGone: boolean;
}

async function findFault(
  app: string,
  { local, readonly }: ReturnType<typeof bindsOf>[number],
  mounts: Mounts,
): Promise<Fault | undefined> {
  const path = normalizePath(local);
  const what = `${path}, which ${app} mounts,`;
  const unmounted = findUnmounted(path, mounts.atBoot, mounts.now);
  if (unmounted !== undefined)
    return {
      text: `${what} is on a disk that is not mounted: /etc/fstab has ${unmounted}.`,
      next: `sudo mount ${unmounted}`,
      isGone: true,
    };
  const mount = findMount(path, mounts.now);
  const code = mount?.hasFailed ? "EIO" : await readCode([path, mount?.path]);
  if (code !== undefined)
    return {
      text: `${what} cannot be read (${code}): its disk fails or is gone.`,
      next: failedDiskAdvice(path, app),
      isGone: true,
    };
  if (await isMissing(path))
    return isVolatile(path)
      ? undefined
      : {
          text: `${what} is not there.`,
          next: `Mount its disk, or, if the app is to begin without its data: sudo mkdir -p ${path}`,
          isGone: true,
        };
  if (readonly) return undefined;
  const writeCode = mount?.isReadOnly ? "EROFS" : await fullCode([path, mount?.path]);
  if (writeCode === undefined) return undefined;
  const { text, next } = describeDiskFault(writeCode, path, userInfo().username);
  return { text: `${text.replace(/\.$/, "")}, which ${app} writes.`, next, isGone: false };
}

/** What the service's user may not look at counts as there. */
async function isMissing(path: string): Promise<boolean> {
  return await stat(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
  );
}

/** Codes with which a disk, or a file system over the network, answers that is not there any more. */
const LOST = new Set(["EIO", "ENXIO", "ENODEV", "ESTALE", "ENOTCONN", "EHOSTDOWN", "ETIMEDOUT"]);

/** Returns the code with which reading a directory fails for its disk. What the service's user may not read tells nothing. */
async function readCode(places: readonly (string | undefined)[]): Promise<string | undefined> {
  for (const place of places) {
    const code = place === undefined ? undefined : await readdir(place).then(() => undefined, codeOf);
    if (code !== undefined && LOST.has(code)) return code;
  }
  return undefined;
}

function codeOf({ code }: NodeJS.ErrnoException): string | undefined {
  return code;
}

/** @param places on one file system, of which the first that can be asked counts */
async function fullCode(places: readonly (string | undefined)[]): Promise<"ENOSPC" | undefined> {
  for (const place of places) {
    // A place that the agent may not see is asked about by the next one.
    const facts = place === undefined ? undefined : await statfs(place).catch(() => undefined);
    // File systems without a fixed number of inodes report 0.
    if (facts) return facts.bavail === 0 || (facts.files > 0 && facts.ffree === 0) ? "ENOSPC" : undefined;
  }
  return undefined;
}

function joined(faults: readonly CheckResult[]): CheckResult {
  const shown = faults.slice(0, MAX_SHOWN);
  const more = faults.length > MAX_SHOWN ? ` And ${faults.length - MAX_SHOWN} more of this kind.` : "";
  const next = [...new Set(shown.map((fault) => fault.next ?? ""))].join("; ");
  return { verdict: faults[0]?.verdict ?? "warning", text: shown.map(({ text }) => text).join(" ") + more, next };
}
