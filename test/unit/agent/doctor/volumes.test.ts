import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findUnmounted, parseFstab, parseMountinfo } from "../../../../src/agent/core/policy/mountinfo.ts";
import type { ProbeContext } from "../../../../src/agent/doctor/probe.ts";
import { probeVolumes } from "../../../../src/agent/doctor/probes/volumes.ts";
import { deployedApps } from "../../../support/reconciler-rig.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const IMAGE = "example/app:1";
const signal = new AbortController().signal;
const ROOT = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw";

/** What the doctor finds of an app that mounts a directory below `base`. */
async function onDevice({
  mountinfo = (_base: string): string => ROOT,
  readonly = false,
  isThere = true,
  isUp = true,
} = {}) {
  const { rig } = await deployedApps(IMAGE, "web");
  onTestFinished(() => rig[Symbol.asyncDispose]());
  // Not in /tmp, which is empty after each start of a device.
  const directory = await tempDir("/var/tmp");
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const base = directory.path;
  await writeFile(join(base, "agent.db"), "");
  const local = join(base, "data");
  if (isThere) await mkdir(local);
  if (!isUp) rig.engine.container("web")?.stop();
  const [app] = rig.store.apps();
  if (!app) throw new Error("there is no app");
  const apps = [{ ...app, spec: { ...app.spec, volumes: [{ local, target: "/data", readonly }] } }];
  const context = {
    // A token that cannot be read is the matter of another check.
    config: new Error("device_token_file /etc/edge-agent/token cannot be read"),
    settings: { state_dir: base },
    engine: rig.engine,
    host: { readMounts: async () => parseMountinfo(mountinfo(base)) },
    openStore: async () => ({ apps: () => apps, learnedValue: () => undefined, [Symbol.dispose]: () => {} }),
  } as unknown as ProbeContext;
  return { local, result: await probeVolumes(context, signal) };
}

it("is good where the directory is there", async () => {
  expect((await onDevice()).result).toEqual({ verdict: "good", text: "What apps mount is there: 1." });
});

it.each([
  [true, "warning"],
  [false, "bad"],
] as const)("names a directory that is gone; the app runs: %s", async (isUp, verdict) => {
  const { result, local } = await onDevice({ isThere: false, isUp });
  expect(result).toEqual({
    verdict,
    text: `${local}, which web mounts, is not there.`,
    next: `Mount its disk, or, if the app is to begin without its data: sudo mkdir -p ${local}`,
  });
});

it.each([
  ["rw,relatime", "ro"],
  ["ro,relatime", "rw"],
  // As Linux 6.15 and newer show it after an error.
  ["rw,relatime", "rw,emergency_ro"],
])("names a file system of %s and %s, unless the app only reads there", async (options, superOptions) => {
  const mountinfo = (base: string): string => `${ROOT}\n30 22 8:2 / ${base} ${options} - ext4 /dev/sdb ${superOptions}`;
  const { result, local } = await onDevice({ mountinfo });
  expect(result).toMatchObject({
    verdict: "warning",
    text: `The file system of ${local} is read-only, which web writes.`,
  });
  expect(result.next).toContain("remount,rw");
  expect((await onDevice({ mountinfo, readonly: true })).result.verdict).toBe("good");
});

const failed = (base: string): string => `${ROOT}\n30 22 8:2 / ${base} rw - ext4 /dev/sdb rw,shutdown`;

it.each([true, false])("names a disk that has failed; the app runs: %s", async (isUp) => {
  const { result, local } = await onDevice({ mountinfo: failed, isUp });
  expect(result).toMatchObject({
    verdict: "bad",
    text: `${local}, which web mounts, cannot be read (EIO): its disk fails or is gone.`,
    next: expect.stringContaining("edge-agent restart web") as string,
  });
});

it("finds what /etc/fstab has and nothing is mounted on", () => {
  const points = parseFstab(
    [
      "# /dev/sdz /old ext4 defaults 0 0",
      "/dev/sda1 / ext4 errors=remount-ro 0 1",
      "LABEL=data /srv/my\\040data ext4 nofail 0 2",
      "/dev/sdc /media/usb auto noauto 0 0",
      "/dev/sdd none swap sw 0 0",
    ].join("\n"),
  );
  expect(points).toEqual(["/", "/srv/my data"]);
  expect(findUnmounted("/srv/my data/web", points, parseMountinfo(ROOT))).toBe("/srv/my data");
  expect(findUnmounted("/srv/other", points, parseMountinfo(ROOT))).toBeUndefined();
  const mounted = `${ROOT}\n30 22 8:2 / /srv/my\\040data rw - ext4 /dev/sdb rw`;
  expect(findUnmounted("/srv/my data/web", points, parseMountinfo(mounted))).toBeUndefined();
});
