import { describe, expect, it } from "vitest";
import {
  containerIdOf,
  parseMountinfo,
  locateFile,
  findPrivateMount,
} from "../../../../../src/agent/core/policy/mountinfo.ts";

const HOST = parseMountinfo(
  [
    "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw",
    "27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    "30 27 8:2 / /data rw shared:7 - ext4 /dev/sda2 rw",
    String.raw`31 27 8:2 /apps /srv/the\040apps rw shared:8 - ext4 /dev/sda2 rw`,
  ].join("\n"),
);

/** As a service sees the machine that has mount namespaces of its own. */
const SERVICE = parseMountinfo(
  [
    "427 1 8:1 / / ro,relatime shared:300 master:1 - ext4 /dev/sda1 rw",
    "430 427 8:2 / /data rw shared:301 master:7 - ext4 /dev/sda2 rw",
    "431 427 8:1 /tmp/systemd-private-0a-edge-agent.service-x/tmp /tmp rw shared:302 master:1 - ext4 /dev/sda1 rw",
    "432 427 0:80 / /home ro shared:303 - tmpfs tmpfs ro",
    "433 427 0:25 /systemd/inaccessible/dir /usr/lib/modules ro shared:304 master:13 - tmpfs tmpfs rw",
  ].join("\n"),
);

const line = (root: string, path: string): string => `500 490 8:1 ${root} ${path} rw - ext4 /dev/sda1 rw`;

describe("the table of mounts", () => {
  it("gives the same location for each path to a file", () => {
    expect(locateFile("/data/apps/x", HOST)).toBe("/8:2/apps/x");
    expect(locateFile("/srv/the apps/x", HOST)).toBe("/8:2/apps/x");
    expect(locateFile("/data", HOST)).toBe("/8:2");
    expect(locateFile("/", HOST)).toBe("/8:1");
    expect(locateFile("/database", HOST)).toBe("/8:1/database");
    expect(locateFile("/x", [])).toBe("/x");
  });

  it("shows mounts by which a service sees another directory than the host", () => {
    for (const path of ["/tmp/x", "/home/user", "/usr/lib/modules/6.1"])
      expect(findPrivateMount(path, SERVICE)).toBeDefined();
    for (const path of ["/data/x", "/srv", "/"]) expect(findPrivateMount(path, SERVICE)).toBeUndefined();
    for (const path of ["/data/x", "/srv/the apps/x", "/tmp", "/"])
      expect(findPrivateMount(path, HOST)).toBeUndefined();
  });

  it("recognises a container by the files its engine mounts", () => {
    const id = "ab".repeat(32);
    const docker = parseMountinfo(line(`/var/lib/docker/containers/${id}/hostname`, "/etc/hostname"));
    expect(containerIdOf(docker)).toBe(id);
    const podman = parseMountinfo(
      line(`/containers/storage/overlay-containers/${id}/userdata/.containerenv`, "/run/.containerenv"),
    );
    expect(containerIdOf(podman)).toBe(id);
    // On a machine that runs containers, their own mounts are seen as well.
    expect(containerIdOf(parseMountinfo(line("/", `/var/lib/docker/containers/${id}/mounts/shm`)))).toBeUndefined();
    expect(containerIdOf(HOST)).toBeUndefined();
  });

  it("accepts any text", () => {
    expect(parseMountinfo("")).toEqual([]);
    expect(parseMountinfo("no table\n\n")).toEqual([]);
  });
});
