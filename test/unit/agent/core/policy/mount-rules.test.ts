import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMountinfo } from "../../../../../src/agent/core/policy/mountinfo.ts";
import type { AppPaths, PathPolicyInput } from "../../../../../src/agent/core/policy/path-policy-input.ts";
import {
  isPathBelow,
  type ResolvedPath,
  pathWithoutLinks,
} from "../../../../../src/agent/core/policy/resolved-path.ts";
import { type Policy, type PolicyViolation, findPolicyViolation } from "../../../../../src/agent/core/policy/policy.ts";
import { parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";

const POLICY: Policy = {
  privileged: true,
  host_network: true,
  mounts: { allow: ["/data", "/alias"], deny: [] },
  devices: { allow: ["/dev", "/data"], deny: [] },
  registries: { allow: [] },
};
const FACTS: PathPolicyInput = {
  volumes: [],
  devices: [],
  otherApps: [],
  protectedPaths: [],
  resolvedRules: new Map(),
  mounts: [],
  sharedPaths: undefined,
};

type Mount = string | { readonly path: string; readonly readonly?: boolean; readonly resolved?: Partial<ResolvedPath> };

const pathOf = (mount: Mount): string => (typeof mount === "string" ? mount : mount.path);
const resolvedOf = (mount: Mount): ResolvedPath => ({
  ...pathWithoutLinks(pathOf(mount)),
  ...(typeof mount === "string" ? {} : mount.resolved),
});
const isReadonly = (mount: Mount): boolean => typeof mount !== "string" && (mount.readonly ?? false);

const other = (...volumes: readonly Mount[]): AppPaths => ({
  app: "other",
  volumes: volumes.map((mount) => ({ resolved: resolvedOf(mount), readonly: isReadonly(mount) })),
  devices: [],
});

interface Asked {
  readonly volumes?: readonly Mount[];
  readonly devices?: readonly string[];
  readonly facts?: Partial<PathPolicyInput>;
  readonly policy?: Partial<Policy>;
  readonly occasion?: "request" | "run";
}

function judge({ volumes = [], devices = [], facts = {}, policy = {}, occasion = "request" }: Asked) {
  const parsed = parseAppSpec({
    name: "app",
    image: "example/app:1",
    volumes: volumes.map((mount, index) => ({
      local: pathOf(mount),
      target: `/t${index}`,
      readonly: isReadonly(mount),
    })),
    ...(devices.length > 0 && { devices: devices.map((local) => ({ local })) }),
  });
  if (!parsed.ok) throw parsed.error;
  const own = {
    volumes: volumes.map((mount) => ({ resolved: resolvedOf(mount), readonly: isReadonly(mount) })),
    devices: devices.map((path) => pathWithoutLinks(path)),
  };
  return findPolicyViolation(parsed.spec, { ...POLICY, ...policy }, { ...FACTS, ...own, ...facts }, occasion);
}

const isNested: Partial<PolicyViolation> = { rule: "policy.mounts" };

describe("a mount that leads through a directory an app may write to", () => {
  it("is refused inside and around it; the same directory and read-only mounts may be shared", () => {
    const others = [other("/data/a")];
    expect(judge({ volumes: ["/data/a/b"], facts: { otherApps: others } })).toMatchObject(isNested);
    expect(judge({ volumes: [{ path: "/data/a/b", readonly: true }], facts: { otherApps: others } })).toMatchObject(
      isNested,
    );
    expect(judge({ volumes: ["/data"], facts: { otherApps: others } })).toMatchObject(isNested);
    expect(judge({ volumes: [{ path: "/data", readonly: true }], facts: { otherApps: others } })).toBeUndefined();
    expect(judge({ volumes: ["/data/a"], facts: { otherApps: others } })).toBeUndefined();
    expect(judge({ volumes: ["/data/ab"], facts: { otherApps: others } })).toBeUndefined();
    const readers = [other({ path: "/data/a", readonly: true })];
    expect(judge({ volumes: ["/data/a/b"], facts: { otherApps: readers } })).toBeUndefined();
  });

  it("is refused among the volumes of one app", () => {
    expect(judge({ volumes: ["/data/a", "/data/a/b"] })?.message).toContain("the app itself");
    expect(judge({ volumes: ["/data/a", "/data/b"] })).toBeUndefined();
  });

  it("is refused for any link on its path", () => {
    const viaLink = { path: "/data/x", resolved: { real: "/data/y", traversed: ["/data/x", "/data/a/link"] } };
    expect(judge({ volumes: [viaLink], facts: { otherApps: [other("/data/a")] } })).toMatchObject(isNested);
    expect(judge({ volumes: ["/data/a"], facts: { otherApps: [other(viaLink)] } })).toMatchObject(isNested);
    expect(judge({ volumes: [viaLink], facts: { otherApps: [other("/data/z")] } })).toBeUndefined();
  });

  it("is refused by another name of the same directory", () => {
    const mounts = parseMountinfo(
      "1 0 8:1 / / rw - ext4 x rw\n2 1 8:2 / /data rw - ext4 x rw\n3 1 8:2 /a /alias rw - ext4 x rw",
    );
    const facts = { otherApps: [other("/data/a/b")], mounts };
    expect(judge({ volumes: ["/alias/b/c"], facts })).toMatchObject(isNested);
    expect(judge({ volumes: ["/alias"], facts })).toMatchObject(isNested);
    expect(judge({ volumes: ["/alias/b"], facts })).toBeUndefined();
  });

  it("prevents only the inner one of two installed apps from running", () => {
    expect(judge({ volumes: ["/data/a/b"], facts: { otherApps: [other("/data/a")] }, occasion: "run" })).toMatchObject(
      isNested,
    );
    expect(
      judge({ volumes: ["/data/a"], facts: { otherApps: [other("/data/a/b")] }, occasion: "run" }),
    ).toBeUndefined();
  });

  it("is allowed if everything may be mounted", () => {
    const facts = { otherApps: [other("/data/a")] };
    for (const allow of [[], ["/", "/run/docker.sock"]]) {
      const policy = { mounts: { allow, deny: [] } };
      expect(judge({ volumes: ["/data/a/b", "/data/a"], facts, policy })).toBeUndefined();
    }
  });

  it("never occurs among allowed apps, in whatever order they are deployed", () => {
    const path = fc
      .array(fc.constantFrom("a", "b", "c"), { maxLength: 3 })
      .map((parts) => ["/data", ...parts].join("/"));
    const mount = fc.record({ path, readonly: fc.boolean(), traversed: fc.array(path, { maxLength: 2 }) });
    fc.assert(
      fc.property(fc.array(fc.array(mount, { minLength: 1, maxLength: 2 }), { maxLength: 5 }), (apps) => {
        const others: AppPaths[] = [];
        for (const app of apps) {
          const volumes = app.map(({ traversed, path: local, readonly }) => ({
            path: local,
            readonly,
            resolved: { traversed },
          }));
          if (!judge({ volumes, facts: { otherApps: others } })) others.push(other(...volumes));
        }
        const all = others.flatMap(({ volumes }) => volumes);
        for (const { resolved } of all) {
          for (const outer of all.filter(({ readonly }) => !readonly)) {
            for (const step of [resolved.real, ...resolved.traversed])
              expect(isPathBelow(step, outer.resolved.real)).toBe(false);
          }
        }
      }),
    );
  });
});

describe("a device file in a directory an app may write to", () => {
  it("is refused to whichever app is deployed second", () => {
    const others = [other("/data/a")];
    for (const device of ["/data/a/disk", "/data/a", "/data"]) {
      expect(judge({ devices: [device], facts: { otherApps: others } })).toMatchObject({ rule: "policy.devices" });
    }
    expect(judge({ devices: ["/data/b"], facts: { otherApps: others } })).toBeUndefined();
    const user = { app: "other", volumes: [], devices: [pathWithoutLinks("/data/a/disk")] };
    expect(judge({ volumes: ["/data/a"], facts: { otherApps: [user] } })).toMatchObject(isNested);
  });
});

describe("a path that cannot be examined", () => {
  const blind = { path: "/data/x/y", resolved: { unresolved: { path: "/data/x/y", reason: "EACCES" } } };

  it("is refused, with the path and the reason", () => {
    const found = judge({ volumes: [blind] });
    expect(found).toMatchObject({ rule: "policy.mounts" });
    expect(found?.message).toContain("/data/x/y could not be examined (no permission");
    expect(
      judge({ volumes: [{ ...blind, resolved: { unresolved: { path: "/data", reason: "EIO" } } }] })?.message,
    ).toContain("EIO");
    expect(judge({ volumes: [blind], policy: { mounts: { allow: [], deny: [] } } })).toBeUndefined();
  });

  it("is refused if the agent's service sees another directory", () => {
    const mounts = parseMountinfo(
      "1 0 8:1 / / rw - ext4 x rw\n2 1 8:1 /tmp/systemd-private-1-x/tmp /data rw - ext4 x rw",
    );
    expect(judge({ volumes: ["/data/x"], facts: { mounts } })?.message).toContain("a /data of its own");
  });

  it("is refused in a container, except for paths shared with the device", () => {
    const facts = { sharedPaths: ["/data/shared"] };
    expect(judge({ volumes: ["/data/x"], facts })?.message).toContain("the agent runs in a container");
    expect(judge({ volumes: ["/data/shared/x"], facts })).toBeUndefined();
    const out = { path: "/data/shared/x", resolved: { real: "/data/x", traversed: ["/data/shared/x"] } };
    expect(judge({ volumes: [out], facts })).toMatchObject({ rule: "policy.mounts" });
  });

  it("is refused through the links of a process", () => {
    const magic = { path: "/data/x", resolved: { real: "/data/y", traversed: ["/data/x", "/proc/1/root"] } };
    expect(judge({ volumes: [magic] })?.message).toContain("/proc/1/root");
  });
});

describe("a denied path by another name", () => {
  /** As ostree has it: the file system at /sysroot, and parts of it bound to where the system is. */
  const OSTREE = parseMountinfo(
    [
      "22 27 0:21 / /proc rw shared:5 - proc proc rw",
      "23 27 0:22 / /sys rw shared:6 - sysfs sysfs rw",
      "24 27 0:5 / /dev rw shared:2 - devtmpfs devtmpfs rw",
      "25 27 0:24 / /run rw shared:11 - tmpfs tmpfs rw",
      "27 1 8:1 /ostree/deploy/os/deploy/1f.0 / rw shared:1 - ext4 /dev/sda1 rw",
      "28 27 8:1 / /sysroot ro shared:3 - ext4 /dev/sda1 rw",
      "29 27 8:1 /ostree/deploy/os/var /var rw shared:4 - ext4 /dev/sda1 rw",
      "30 27 8:2 / /mnt/data rw shared:7 - ext4 /dev/sda2 rw",
      "31 27 8:2 /store /srv/store rw shared:8 - ext4 /dev/sda2 rw",
      "32 27 8:2 /apps/shared /srv/apps/shared rw shared:8 - ext4 /dev/sda2 rw",
    ].join("\n"),
  );
  const STATE = "/var/lib/edge-agent";
  const SYSROOT = "/sysroot/ostree/deploy/os";
  const protectedPaths = [{ path: STATE, when: "always" }] as const;
  const ask = (path: string, mounts: Partial<Policy["mounts"]>, facts: Partial<PathPolicyInput> = {}) =>
    judge({
      volumes: [{ path, readonly: true }],
      facts: { mounts: OSTREE, protectedPaths, ...facts },
      policy: { mounts: { allow: [], deny: [], ...mounts } },
    });
  const isDenied: Partial<PolicyViolation> = { rule: "policy.mounts.deny" };
  const isProtected: Partial<PolicyViolation> = {
    rule: "policy.mounts.allow",
    message: expect.stringContaining("protected") as string,
  };

  it("is refused itself, inside and around, if the protected path is bind-mounted elsewhere", () => {
    for (const path of [
      `${SYSROOT}/var/lib/edge-agent`,
      `${SYSROOT}/var/lib/edge-agent/x`,
      `${SYSROOT}/var`,
      "/sysroot",
    ])
      expect(ask(path, { deny: ["/etc"] }), path).toMatchObject(path === "/sysroot" ? isDenied : isProtected);
    expect(ask(`${SYSROOT}/var/lib/edge-agent`, { deny: ["/etc"] })?.message).toContain(STATE);
    expect(ask(`${SYSROOT}/var/lib/other`, { deny: ["/etc"] })).toBeUndefined();
    expect(ask(`${SYSROOT}/deploy/1f.0/etc`, { deny: ["/etc"] })).toMatchObject(isDenied);
    expect(ask("/srv/apps", { deny: ["/etc"] })).toBeUndefined();
  });

  it("is refused if the denied entry is the bind mount, its source, or contains the mount point of one", () => {
    for (const deny of ["/srv/store", "/srv/store/keys", "/mnt/data/store"]) {
      expect(ask("/mnt/data", { deny: [deny] }), deny).toMatchObject(isDenied);
      expect(ask("/mnt/data/store/keys", { deny: [deny] }), deny).toMatchObject(isDenied);
      expect(ask("/srv/store/keys", { deny: [deny] }), deny).toMatchObject(isDenied);
      expect(ask("/mnt/data/other", { deny: [deny] }), deny).toBeUndefined();
    }
    expect(ask("/mnt/data/store", { deny: ["/srv"] })).toMatchObject(isDenied);
    expect(ask("/mnt/data", { deny: ["/srv"] })).toMatchObject(isDenied);
  });

  it("is refused through a mount point below the mounted directory", () => {
    expect(ask("/srv/apps", { deny: ["/mnt/data/apps/shared/key"] })).toMatchObject(isDenied);
    expect(ask("/srv", { deny: ["/mnt/data/store"] })).toMatchObject(isDenied);
    expect(ask("/srv/apps", { deny: ["/mnt/data/store"] })).toBeUndefined();
  });

  it("is refused if a link on the entry's path can be replaced", () => {
    const entry = {
      ...pathWithoutLinks("/srv/apps/shared/link/x"),
      real: "/opt/x",
      traversed: ["/srv/apps/shared/link"],
    };
    const leadsTo = new Map([[entry.written, entry]]);
    expect(ask("/mnt/data/apps/shared", { deny: [entry.written] }, { resolvedRules: leadsTo })).toMatchObject(isDenied);
    expect(ask("/mnt/data/apps/other", { deny: [entry.written] }, { resolvedRules: leadsTo })).toBeUndefined();
  });

  it("stays allowed if the protected path itself is listed, by either name", () => {
    expect(ask(STATE, { allow: ["/", STATE] })).toBeUndefined();
    expect(ask(STATE, { allow: [STATE] })).toBeUndefined();
    const other = `${SYSROOT}/var/lib/edge-agent`;
    expect(ask(other, { allow: [other] })).toBeUndefined();
    expect(ask(other, { allow: ["/sysroot", STATE] })).toBeUndefined();
    expect(ask(other, { allow: ["/sysroot"] })).toMatchObject(isProtected);
    expect(ask(other, { allow: [other], deny: [STATE] })).toMatchObject(isDenied);
  });

  it("may be contained in what is mounted where the owner says so, and nothing else", () => {
    const contained = { allow: ["/"], allow_containing_protected: true };
    for (const path of ["/", "/var", "/var/lib", "/sysroot", `${SYSROOT}/var`]) {
      expect(ask(path, { allow: ["/"] }), path).toMatchObject(isProtected);
      expect(ask(path, contained), path).toBeUndefined();
    }
    for (const path of [STATE, `${STATE}/x`, `${SYSROOT}/var/lib/edge-agent`, `${SYSROOT}/var/lib/edge-agent/x`])
      expect(ask(path, contained), path).toMatchObject(isProtected);
    expect(ask("/var", { ...contained, allow: ["/srv"] })).toMatchObject({ rule: "policy.mounts.allow" });
    expect(ask("/var", { ...contained, deny: [STATE] })).toMatchObject(isDenied);
    const link = { ...pathWithoutLinks("/var/lib/link"), real: "/", traversed: ["/var/lib/link"] };
    expect(
      judge({
        volumes: [{ path: "/var/lib/link", readonly: true, resolved: link }],
        policy: { mounts: { allow: ["/var"], deny: [], allow_containing_protected: true } },
        facts: { protectedPaths },
      }),
    ).toMatchObject({ rule: "policy.mounts.allow" });
  });

  it("does not include the system if the whole file system is denied by its other name", () => {
    for (const path of ["/srv/apps", "/var/lib/apps", "/opt"]) {
      expect(ask(path, { deny: ["/sysroot"] }), path).toBeUndefined();
    }
    expect(ask("/sysroot/x", { deny: ["/sysroot"] })).toMatchObject(isDenied);
    expect(ask("/srv/store", { deny: ["/mnt/data"] })).toMatchObject(isDenied);
  });

  it("ignores mounts that only the agent's service has", () => {
    const service = parseMountinfo(
      [
        "427 1 8:1 / / ro shared:300 master:1 - ext4 /dev/sda1 rw",
        "428 427 0:24 / /run rw shared:305 master:11 - tmpfs tmpfs rw",
        "433 427 0:24 /systemd/inaccessible/dir /usr/lib/modules ro shared:304 master:11 - tmpfs tmpfs rw",
        "434 427 8:1 /var/lib/edge-agent /var/lib/edge-agent rw shared:306 master:1 - ext4 /dev/sda1 rw",
      ].join("\n"),
    );
    const hidden = [...protectedPaths, { path: "/run/systemd", when: "restricted" }] as const;
    expect(ask("/usr", { deny: ["/etc"] }, { mounts: service, protectedPaths: hidden })).toBeUndefined();
  });

  it("is recognised by text alone if the mounts are unknown", () => {
    expect(ask(`${SYSROOT}/var/lib/edge-agent`, { deny: ["/etc"] }, { mounts: [] })).toBeUndefined();
    expect(ask(STATE, { deny: ["/etc"] }, { mounts: [] })).toMatchObject(isProtected);
  });

  it("changes nothing if every file system is mounted once", () => {
    const mounts = parseMountinfo(
      "1 0 8:1 / / rw - ext4 x rw\n2 1 8:2 / /a rw - ext4 x rw\n3 2 8:3 / /a/b rw - ext4 x rw\n4 1 8:4 / /c/a rw - ext4 x rw",
    );
    const path = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 4 }).map((parts) => `/${parts.join("/")}`);
    const paths = fc.array(path, { maxLength: 2 });
    fc.assert(
      fc.property(path, paths, paths, paths, (local, allow, deny, guards) => {
        const judgeWith = (known: PathPolicyInput["mounts"]) =>
          ask(
            local,
            { allow, deny },
            { mounts: known, protectedPaths: guards.map((at) => ({ path: at, when: "always" })) },
          );
        expect(judgeWith(mounts)).toEqual(judgeWith([]));
      }),
    );
  });
});
