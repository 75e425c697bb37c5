import { describe, expect, test } from "vitest";
import { decideMissingMount, type MissingMount } from "../../../../../src/agent/core/host/missing-mount.ts";

const decide = (local: string, more: Partial<MissingMount> = {}) =>
  decideMissingMount({ local, inImage: undefined, isInstalled: false, ...more });

describe("a volume that does not exist on the device", () => {
  test.each(["/srv/node-red", "/var/lib/app.d", "/etc/conf.d", "/data/v1.2", "/srv/.conf", "/srv/site.conf/"])(
    "is made as a directory: %s",
    (local) => expect(decide(local)).toBe("make"),
  );

  test.each(["/srv/mosquitto.conf", "/etc/App.YAML", "/srv/tls/server.key", "/run/docker.sock", "/srv/.x.env"])(
    "is a file: %s",
    (local) => expect(decide(local)).toBe("file"),
  );

  test("is what the image has there", () => {
    expect(decide("/srv/passwords", { inImage: { kind: "file" } })).toBe("file");
    expect(decide("/srv/passwords/", { inImage: { kind: "file" } })).toBe("file");
    expect(decide("/srv/socket", { inImage: { kind: "other" } })).toBe("file");
    expect(decide("/srv/certs.pem", { inImage: { kind: "directory" } })).toBe("make");
  });

  test.each(["/srv/data", "/mnt/usb/data", "/run/media/usb/data", "/tmp", "/running/data"])(
    "is gone if the installed app has it: %s",
    (local) => {
      expect(decide(local, { isInstalled: true })).toBe("gone");
      expect(decide(local, { isInstalled: true, inImage: { kind: "directory" } })).toBe("gone");
    },
  );

  test.each(["/run/app", "/var/run/app/x", "/tmp/app", "//dev/shm/./app"])(
    "is made again where nothing outlasts a reboot: %s",
    (local) => expect(decide(local, { isInstalled: true })).toBe("make"),
  );
});
