import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findRefusal, type HostState, toRefusalFailure } from "../../../src/agent/core/deployment/check.ts";
import { type AppSpec, parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { EMPTY_HOST_STATE as EMPTY } from "../../support/empty-host-state.ts";

function spec(fields: Record<string, unknown> = {}): AppSpec {
  const parsed = parseAppSpec({ name: "app", image: "example/app:1", ...fields });
  if (!parsed.ok) throw parsed.error;
  return parsed.spec;
}

const tcp = (port: number) => ({ port, protocol: "tcp" as const });
const port = (host_port: number) => spec({ ports: [{ host_port, target_port: 80 }] });

/** The failure as it is stored and sent. */
function failureOf(app: AppSpec, hostState: HostState) {
  const refusal = findRefusal(app, hostState);
  return refusal && toRefusalFailure(refusal, "checking");
}

describe("check", () => {
  it("accepts exactly the ports from 30000 to 32767", () => {
    for (const good of [30_000, 31_000, 32_767]) expect(findRefusal(port(good), EMPTY)).toBeUndefined();
    fc.assert(
      fc.property(fc.integer(), (host_port) => {
        const refusal = findRefusal(port(host_port), EMPTY);
        const isInside = host_port >= 30_000 && host_port <= 32_767;
        expect(refusal?.code).toBe(isInside ? undefined : "ErrorNodePortIsNotCorrectRange");
      }),
    );
  });

  it("names the port that is out of range, also on the host's network", () => {
    const wrong = spec({ host_network: true, ports: [{ host_port: 80, target_port: 80 }] });
    expect(findRefusal(wrong, EMPTY)).toMatchObject({
      code: "ErrorNodePortIsNotCorrectRange",
      details: { host_port: 80 },
    });
  });

  it("refuses a port twice in one request", () => {
    const twice = spec({ ports: [1, 2].map((target_port) => ({ host_port: 30_001, target_port })) });
    expect(findRefusal(twice, EMPTY)?.portConflict).toEqual({ port: tcp(30_001), holder: { kind: "request" } });
    expect(failureOf(twice, EMPTY)).toEqual({
      code: "ErrorPortInUse",
      message: "The desired port is already in use.",
      step: "checking",
      details: { host_port: 30_001, holder: { kind: "request" } },
    });
  });

  it.each([
    [
      "a running container",
      { containers: [{ name: "web", hostPorts: [tcp(30_001)], app: undefined }] },
      { kind: "container", name: "web" },
    ],
    [
      "an app that does not run right now",
      { apps: [{ name: "web", hostPorts: [tcp(30_001)] }] },
      { kind: "app", name: "web" },
    ],
    [
      "an earlier deployment",
      { concurrentDeployments: [{ id: "d0", app: "web", hostPorts: [tcp(30_001)] }] },
      { kind: "deployment", name: "web", deployment_id: "d0" },
    ],
    ["a listening process", { listeningPorts: [tcp(30_001)] }, { kind: "process" }],
  ])("finds a port held by %s", (_who, around, holder) => {
    expect(failureOf(port(30_001), { ...EMPTY, ...around })).toMatchObject({
      code: "ErrorPortInUse",
      details: { host_port: 30_001, holder },
    });
    expect(findRefusal(port(30_002), { ...EMPTY, ...around })).toBeUndefined();
  });

  it("tells a TCP port from a UDP port of the same number", () => {
    const both = [
      { host_port: 30_001, target_port: 53 } as const,
      { host_port: 30_001, target_port: 53, protocol: "udp" } as const,
    ];
    expect(findRefusal(spec({ ports: both }), EMPTY)).toBeUndefined();
    const udp = spec({ ports: [both[1]] });
    expect(findRefusal(udp, { ...EMPTY, listeningPorts: [tcp(30_001)] })).toBeUndefined();
    expect(failureOf(udp, { ...EMPTY, listeningPorts: [{ port: 30_001, protocol: "udp" }] })).toMatchObject({
      code: "ErrorPortInUse",
      details: { host_port: 30_001, protocol: "udp", holder: { kind: "process" } },
    });
  });

  it("refuses what the machine does not have", () => {
    const { capacity } = EMPTY;
    expect(findRefusal(spec({ memory_limit: capacity.memoryBytes, cpu_limit: capacity.cpus }), EMPTY)).toBeUndefined();
    expect(findRefusal(spec({ memory_limit: capacity.memoryBytes + 1 }), EMPTY)).toMatchObject({
      code: "InvalidRequest",
      details: { memory_limit: capacity.memoryBytes + 1, memory_bytes: capacity.memoryBytes },
    });
    expect(findRefusal(spec({ cpu_limit: 2.5 }), EMPTY)).toMatchObject({
      code: "InvalidRequest",
      details: { cpus: 2 },
    });
    expect(findRefusal(spec(), { ...EMPTY, missingDevices: ["/dev/ttyUSB7"] })).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining("/dev/ttyUSB7") as string,
    });
  });

  it("lets an app on the host's network name a port that is in use, since the mapping has no effect", () => {
    const onHost = spec({ host_network: true, ports: [{ host_port: 30_001, target_port: 80 }] });
    expect(findRefusal(onHost, { ...EMPTY, listeningPorts: [tcp(30_001)] })).toBeUndefined();
  });

  it.each([
    ["AppExists", { apps: [{ name: "app", hostPorts: [] }] }],
    ["AppExists", { containers: [{ name: "app", hostPorts: [], app: "app" }] }],
    ["ErrorNameExists", { containers: [{ name: "app", hostPorts: [], app: undefined }] }],
    ["ErrorDeploymentAlreadyExist", { concurrentDeployments: [{ id: "d0", app: "app", hostPorts: [] }] }],
    ["PolicyDenied", { policyViolation: { rule: "policy.privileged", message: "no" } }],
    ["InsufficientDisk", { freeBytes: 999 }],
  ])("answers %s", (code, around) => {
    expect(findRefusal(spec(), { ...EMPTY, ...around })?.code).toBe(code);
  });

  it("refuses an image where its files do not fit, by the name of what is missing", () => {
    expect(failureOf(spec(), { ...EMPTY, freeInodes: 1_999 })).toMatchObject({
      code: "InsufficientDisk",
      message: expect.stringMatching(/^Only 1999 inodes are free where images are kept/) as string,
      details: { free_inodes: 1_999, needed_inodes: 2_000 },
    });
    expect(findRefusal(spec(), { ...EMPTY, freeInodes: 2_000 })).toBeUndefined();
  });

  it.each([
    { apps: [{ name: "App", hostPorts: [] }] },
    { containers: [{ name: "App", hostPorts: [], app: "App" }] },
    { concurrentDeployments: [{ id: "d0", app: "App", hostPorts: [] }] },
  ])("refuses a name that differs from another app's only in case: %o", (around) => {
    expect(failureOf(spec(), { ...EMPTY, ...around })).toMatchObject({
      code: "AppExists",
      message: "The name app differs from that of the app App only in case, and apps are found by either.",
      details: { app: "App" },
    });
    expect(findRefusal(spec(), { ...EMPTY, ...around, action: "update" })).toBeUndefined();
  });

  it("names the other agent to which a container belongs", () => {
    const containers = [{ name: "app", hostPorts: [], app: undefined, otherAgent: "/var/lib/second-agent" }];
    expect(findRefusal(spec(), { ...EMPTY, containers })?.message).toBe(
      "A container named app exists on the device and belongs to another edge-agent, that with the state directory " +
        "/var/lib/second-agent.",
    );
  });

  it("does not refuse for lack of disk where the disk cannot be seen", () => {
    expect(findRefusal(spec(), { ...EMPTY, freeBytes: undefined })).toBeUndefined();
  });
});
