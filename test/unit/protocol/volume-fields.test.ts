import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { parseAppUpdate } from "../../../src/protocol/apps/app-update.ts";
import { bindsOf, namedVolumesOf, parseOwner } from "../../../src/protocol/apps/volume-fields.ts";

function issuesOf(volume: object): unknown {
  const spec = parseAppSpec({ name: "app", image: "example/app:1", volumes: [volume] });
  const update = parseAppUpdate({ volumes: [volume] });
  if (spec.ok || update.ok) return undefined;
  const { issues } = spec.error.details as { issues: { path: string; reason: string }[] };
  expect(update.error.details).toEqual({ issues });
  return issues.map(({ path, reason }) => `${path}: ${reason}`);
}

describe("a volume of an app", () => {
  it.each([
    [{ local: "/srv", target: "/data", owner: "1000" }],
    [{ name: "data", target: "/data" }],
    // As for monitoring, and for lxcfs.
    [{ local: "/proc", target: "/proc" }],
    [{ local: "/var/lib/lxcfs/proc/meminfo", target: "/proc/meminfo" }],
    [{ local: "/sys", target: "/sys" }],
    [{ local: "/dev", target: "/dev" }],
    [{ name: "Data_1.x-2", target: "/data", readonly: true, owner: "0:4294967294" }],
  ])("is accepted: %j", (volume) => {
    expect(issuesOf(volume)).toBeUndefined();
  });

  it.each([
    [
      { target: "/data" },
      "volumes[0].local: is missing: give a path of the device, or `name` for a volume that the agent manages",
    ],
    [{ local: "/srv", name: "data", target: "/data" }, "volumes[0].name: must not be given together with `local`"],
    [{ name: "data", target: "/" }, "volumes[0].target: must not be the container's root"],
    [{ local: "/srv", target: "/./" }, "volumes[0].target: must not be the container's root"],
    [{ local: "/srv", target: "/proc" }, "volumes[0].target: must not be /proc, which is the kernel's"],
    [{ name: "data", target: "//proc/." }, "volumes[0].target: must not be /proc, which is the kernel's"],
    [{ local: "/proc", target: "/proc/self" }, "volumes[0].target: must not be in /proc, which is the kernel's"],
    [
      { local: "/srv", target: "/a/" + "é".repeat(128) },
      "volumes[0].target: must not have a name of more than 255 bytes",
    ],
    [{ local: "/" + "x".repeat(256), target: "/a" }, "volumes[0].local: must not have a name of more than 255 bytes"],
    [{ local: "/srv", target: "/data", user: "1" }, "volumes[0].user: unknown field"],
    [{ nmae: "data", target: "/data" }, "volumes[0].nmae: unknown field; did you mean `name`?"],
  ])("is refused: %j", (volume, issue) => {
    expect(issuesOf(volume)).toContain(issue);
  });

  it.each(["../x", "", "a/b", "/abs", ".hidden", "-x", "a".repeat(64), "a b", "a\n", "ä", "x:y"])(
    "is refused with the name %j",
    (name) => {
      expect(issuesOf({ name, target: "/data" })).toEqual([
        expect.stringMatching(/^volumes\[0\]\.name: must be 1 to 63/),
      ]);
    },
  );

  it.each([
    "",
    "node",
    "-1",
    "1000:",
    ":1000",
    "1:2:3",
    "4294967295",
    "1000:4294967295",
    "99999999999",
    "1.5",
    " 1",
    "1e3",
  ])("is refused with the owner %j", (owner) => {
    const issue = "volumes[0].owner: must be UID or UID:GID, each a number from 0 to 4294967294";
    expect(issuesOf({ name: "data", target: "/data", owner })).toEqual([issue]);
  });

  it("has the group of root if its owner names none", () => {
    expect(parseOwner("1000")).toEqual({ uid: 1000, gid: 0 });
    expect(parseOwner("5:4294967294")).toEqual({ uid: 5, gid: 4_294_967_294 });
  });

  it("is a path of the device or a volume that the agent manages, in order", () => {
    const volume = fc.oneof(
      fc.record({ local: fc.constantFrom("/a", "/b"), target: fc.string(), readonly: fc.boolean() }),
      fc.record({ name: fc.constantFrom("a", "b"), target: fc.string(), readonly: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(volume), (volumes) => {
        const [binds, named] = [bindsOf({ volumes }), namedVolumesOf({ volumes })];
        expect(binds).toEqual(volumes.filter((each) => "local" in each));
        expect(named).toEqual(volumes.filter((each) => "name" in each));
      }),
    );
  });
});
