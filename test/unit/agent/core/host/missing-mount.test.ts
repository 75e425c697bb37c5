import { describe, expect, test } from "vitest";
import { expectedMount, isVolatile, type MissingMount } from "../../../../../src/agent/core/host/missing-mount.ts";

const expected = (local: string, inImage?: MissingMount["inImage"]) => expectedMount({ local, inImage });

describe("what an app expects at a path that does not exist", () => {
  test.each(["/srv/node-red", "/var/lib/app.d", "/etc/conf.d", "/data/v1.2", "/srv/.conf", "/srv/site.conf/"])(
    "a directory: %s",
    (local) => expect(expected(local)).toBe("directory"),
  );

  test.each(["/srv/mosquitto.conf", "/etc/App.YAML", "/srv/tls/server.key", "/run/docker.sock", "/srv/.x.env"])(
    "a file: %s",
    (local) => expect(expected(local)).toBe("file"),
  );

  test("what the image has there", () => {
    expect(expected("/srv/passwords", { kind: "file" })).toBe("file");
    expect(expected("/srv/passwords/", { kind: "file" })).toBe("file");
    expect(expected("/srv/socket", { kind: "other" })).toBe("file");
    expect(expected("/srv/certs.pem", { kind: "directory" })).toBe("directory");
  });
});

describe("a path that was there", () => {
  test.each(["/srv/data", "/mnt/usb/data", "/run/media/usb/data", "/tmp", "/running/data"])(
    "may be on a disk that is not mounted: %s",
    (path) => expect(isVolatile(path)).toBe(false),
  );

  test.each(["/run/app", "/var/run/app/x", "/tmp/app", "//dev/shm/./app"])("is gone after a start: %s", (path) => {
    expect(isVolatile(path)).toBe(true);
  });
});
