import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Policy, findPolicyViolation } from "../../../src/agent/core/policy/policy.ts";
import { bindsOf } from "../../../src/protocol/apps/volume-fields.ts";
import type { PathPolicyInput } from "../../../src/agent/core/policy/path-policy-input.ts";
import { pathWithoutLinks } from "../../../src/agent/core/policy/resolved-path.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";

const OPEN: Policy = {
  privileged: true,
  host_network: true,
  mounts: { allow: [], deny: [] },
  registries: { allow: [] },
};
const FACTS: PathPolicyInput = {
  volumes: [],
  devices: [],
  otherApps: [],
  protectedPaths: ["/run/docker.sock", "/var/lib/edge-agent"].map((path) => ({ path, when: "always" })),
  resolvedRules: new Map(),
  mounts: [],
  sharedPaths: undefined,
};

function rule(fields: Record<string, unknown>, policy: Partial<Policy> = {}, resolved?: string[]): string | undefined {
  const parsed = parseAppSpec({ name: "app", image: "example/app:1", ...fields });
  if (!parsed.ok) throw parsed.error;
  const volumes = bindsOf(parsed.spec).map(({ local, readonly }, index) => {
    return { resolved: traced(local, resolved?.[index]), readonly };
  });
  const devices = (parsed.spec.devices ?? []).map(({ local }) => traced(local, realDevices[local]));
  return findPolicyViolation(parsed.spec, { ...OPEN, ...policy }, { ...FACTS, volumes, devices }, "request")?.rule;
}

const traced = (local: string, real: string = local) => ({ ...pathWithoutLinks(local), real });
const realDevices: Record<string, string> = { "/dev/serial/by-id/modem": "/dev/ttyUSB0" };
const device = (local: string) => ({ devices: [{ local }] });
const mount = (local: string) => ({ volumes: [{ local, target: "/mnt" }] });

describe("policy", () => {
  it("allows what nobody forbade", () => {
    expect(rule({ privileged: true, host_network: true, ...mount("/data") })).toBeUndefined();
  });

  it("refuses privileged apps and the host's network where switched off", () => {
    expect(rule({ privileged: true }, { privileged: false })).toBe("policy.privileged");
    expect(rule({ host_network: true }, { host_network: false })).toBe("policy.host_network");
  });

  it("allows only the listed registries, with docker.io for references without one", () => {
    const registries = { allow: ["registry.example.com:5000"] };
    expect(rule({ image: "registry.example.com:5000/a" }, { registries })).toBeUndefined();
    expect(rule({ image: "registry.example.com/a" }, { registries })).toBe("policy.registries.allow");
    expect(rule({ image: "busybox" }, { registries })).toBe("policy.registries.allow");
    expect(rule({ image: "busybox" }, { registries: { allow: ["docker.io"] } })).toBeUndefined();
  });

  it("allows mounts below an allowed prefix only", () => {
    const mounts = { allow: ["/data/"], deny: [] };
    expect(rule(mount("/data/x"), { mounts })).toBeUndefined();
    expect(rule(mount("/database"), { mounts })).toBe("policy.mounts.allow");
  });

  it("refuses a denied path, what is below it, and what holds it", () => {
    const mounts = { allow: [], deny: ["/etc/ssl"] };
    for (const path of ["/etc/ssl", "/etc/ssl/private", "/etc", "/", "/etc/./ssl//"]) {
      expect(rule(mount(path), { mounts })).toBe("policy.mounts.deny");
    }
    expect(rule(mount("/etc/sslx"), { mounts })).toBeUndefined();
  });

  it("looks at where a symbolic link leads", () => {
    expect(rule(mount("/data/link"), {}, ["/run/docker.sock"])).toBe("policy.mounts.allow");
  });

  it("guards the engine's socket and the agent's state unless exactly they are allowed", () => {
    expect(rule(mount("/run/docker.sock"))).toBe("policy.mounts.allow");
    expect(rule(mount("/run"))).toBe("policy.mounts.allow");
    const only = { allow: ["/run/docker.sock", "/data"], deny: [] };
    expect(rule(mount("/run/docker.sock"), { mounts: only })).toBeUndefined();
    expect(rule(mount("/run/docker.sock"), { mounts: { allow: ["/run"], deny: [] } })).toBe("policy.mounts.allow");
  });

  it.each([
    [
      "/run/docker.sock",
      [],
      'This device does not allow mounting /run/docker.sock: it is protected, since it gives control of the device or of the agent. To allow it, list exactly this path in `policy.mounts.allow` of the device\'s configuration, beside "/" for all other paths.',
    ],
    [
      "/var/lib/edge-agent/x",
      ["/data"],
      "This device does not allow mounting /var/lib/edge-agent/x: /var/lib/edge-agent is protected, since it gives control of the device or of the agent. To allow it, list exactly this path in `policy.mounts.allow` of the device's configuration.",
    ],
    [
      "/run",
      ["/run"],
      "This device does not allow mounting /run: it contains /run/docker.sock, which is protected: it gives control of the device or of the agent. Mount only what the app needs of it, or let the device's owner set `policy.mounts.allow_containing_protected`, which gives such an app control of the device.",
    ],
    [
      "/etc/ca.pem",
      [],
      "This device does not allow mounting /etc/ca.pem for writing: it is protected, since it decides whom the agent trusts. It may be mounted with `readonly`.",
    ],
  ])("says why %s, where %j is allowed, is protected, and how to go on", (path, allow, message) => {
    const policy = { ...OPEN, mounts: { allow, deny: [] } };
    const protectedPaths = [...FACTS.protectedPaths, { path: "/etc/ca.pem", when: "written" as const }];
    const facts = { ...FACTS, volumes: [{ resolved: pathWithoutLinks(path), readonly: false }], protectedPaths };
    const parsed = parseAppSpec({ name: "app", image: "example/app:1", ...mount(path) });
    if (!parsed.ok) throw parsed.error;
    expect(findPolicyViolation(parsed.spec, policy, facts, "request")).toEqual({
      rule: "policy.mounts.allow",
      message,
    });
  });

  it("allows a protected path as its refusal says", () => {
    const path = "/run/docker.sock";
    expect(rule(mount(path), { mounts: { allow: [path, "/"], deny: [] } })).toBeUndefined();
    expect(rule(mount("/data"), { mounts: { allow: [path, "/"], deny: [] } })).toBeUndefined();
    expect(rule(mount("/data"), { mounts: { allow: [path], deny: [] } })).toBe("policy.mounts.allow");
  });

  it("lets apps use devices exactly if they may be privileged, where nothing is said", () => {
    expect(rule(device("/dev/ttyUSB0"))).toBeUndefined();
    expect(rule(device("/dev/ttyUSB0"), { privileged: false })).toBe("policy.devices");
    expect(rule({}, { privileged: false })).toBeUndefined();
  });

  it("holds devices against their own prefixes, also where a symbolic link leads", () => {
    const only = { privileged: false, devices: { allow: ["/dev/ttyUSB0", "/dev/serial"], deny: [] } };
    expect(rule(device("/dev/ttyUSB0"), only)).toBeUndefined();
    expect(rule(device("/dev/serial/by-id/modem"), only)).toBeUndefined();
    expect(rule(device("/dev/sda"), only)).toBe("policy.devices.allow");
    const without = { devices: { allow: [], deny: ["/dev/ttyUSB0"] } };
    expect(rule(device("/dev/serial/by-id/modem"), without)).toBe("policy.devices.deny");
    expect(rule(device("/dev"), without)).toBe("policy.devices.deny");
    expect(rule(device("/dev/ttyUSB1"), without)).toBeUndefined();
  });

  it("never allows more when a path is denied as well", () => {
    const path = fc.constantFrom("/", "/a", "/a/b", "/a/b/c", "/b", "/run/docker.sock");
    fc.assert(
      fc.property(path, fc.array(path), path, (allowed, deny, local) => {
        const without = rule(mount(local), { mounts: { allow: [allowed], deny: [] } });
        const withDeny = rule(mount(local), { mounts: { allow: [allowed], deny } });
        if (without !== undefined) expect(withDeny).toBeDefined();
      }),
    );
  });
});
