import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createLinuxHost } from "../../../../src/agent/host/linux-host.ts";
import { tempDir } from "../../../support/temp-dir.ts";

it("a mounted disk that the kernel has given up, or that was pulled, has failed", async () => {
  await using directory = await tempDir();
  const [proc, sys] = [join(directory.path, "proc"), join(directory.path, "sys")];
  await Promise.all([
    mkdir(join(proc, "self"), { recursive: true }),
    mkdir(join(sys, "dev/block/8:1"), { recursive: true }),
  ]);
  const lines = [
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    "30 22 8:1 / /srv/shut rw - ext4 /dev/sda1 rw,shutdown",
    "31 22 8:17 / /srv/pulled rw - ext4 /dev/sdb1 rw",
    "32 22 0:44 / /srv/memory rw - tmpfs tmpfs rw",
  ];
  await writeFile(join(proc, "self/mountinfo"), lines.join("\n"));
  const mounts = await createLinuxHost(proc, sys).readMounts();
  expect(mounts.filter(({ hasFailed }) => hasFailed).map(({ path }) => path)).toEqual(["/srv/shut", "/srv/pulled"]);
});
