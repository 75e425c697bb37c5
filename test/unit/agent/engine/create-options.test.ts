import { expect, test } from "vitest";
import { createOptions } from "../../../../src/agent/engine/docker/create-options.ts";
import { localReference, pullTarget } from "../../../../src/agent/engine/docker/engine-reference.ts";
import type { ContainerRequest } from "../../../../src/agent/engine/engine.ts";

const REQUEST: ContainerRequest = {
  name: "app",
  image: "team/app:1",
  labels: { a: "b" },
  environment: ["B=2", "A=1=1"],
  ports: [
    { hostPort: 30080, targetPort: 80 },
    { hostPort: 30081, targetPort: 80 },
    { hostPort: 30443, targetPort: 443 },
  ],
  volumes: [
    { local: "/data", target: "/data", readonly: false },
    { local: "/etc/app", target: "/config", readonly: true },
    { local: "/dev/disk/by-path:0", target: "/disk", readonly: true },
  ],
  hostNetwork: false,
  privileged: true,
  restartPolicy: "unless-stopped",
  logLimit: { maxBytes: 1000, maxFiles: 3 },
};

const DOCKER = { kind: "docker", isRootless: false } as const;
const PODMAN = { kind: "podman", isRootless: false } as const;

test("a request with all fields becomes the engine's create call", () => {
  expect(createOptions(REQUEST, DOCKER)).toEqual({
    name: "app",
    Image: "team/app:1",
    Labels: { a: "b" },
    Env: ["B=2", "A=1=1"],
    ExposedPorts: { "80/tcp": {}, "443/tcp": {} },
    HostConfig: {
      Binds: [],
      Mounts: [
        bindMount("/data", "/data", false),
        bindMount("/etc/app", "/config", true),
        bindMount("/dev/disk/by-path:0", "/disk", true),
      ],
      PortBindings: { "80/tcp": [{ HostPort: "30080" }, { HostPort: "30081" }], "443/tcp": [{ HostPort: "30443" }] },
      RestartPolicy: { Name: "unless-stopped" },
      LogConfig: { Type: "json-file", Config: { "max-size": "1000", "max-file": "3" } },
      Privileged: true,
    },
  });
});

test("Podman's volumes are binds where their paths allow it", () => {
  expect(createOptions(REQUEST, PODMAN).HostConfig).toMatchObject({
    Binds: ["/data:/data", "/etc/app:/config:ro"],
    Mounts: [bindMount("/dev/disk/by-path:0", "/disk", true)],
  });
});

/** A mount whose source must exist. */
function bindMount(Source: string, Target: string, ReadOnly: boolean) {
  return { Type: "bind", Source, Target, ReadOnly };
}

test("optional fields are in the call only if requested", () => {
  const request: ContainerRequest = {
    ...REQUEST,
    ports: [
      { hostPort: 30053, targetPort: 53, protocol: "udp" },
      { hostPort: 30053, targetPort: 53, protocol: "tcp" },
    ],
    command: ["serve", "--fast"],
    cpuLimit: 0.1,
    memoryLimit: 64_000_000,
    devices: [{ local: "/dev/ttyUSB0", target: "/dev/modem", permissions: "rw" }],
    healthcheck: { command: ["check", "it"], intervalS: 1.5, timeoutS: 2, retries: 3, startPeriodS: 0 },
    restartPolicy: "on-failure",
  };
  expect(createOptions(request, DOCKER)).toMatchObject({
    ExposedPorts: { "53/udp": {}, "53/tcp": {} },
    Cmd: ["serve", "--fast"],
    Healthcheck: {
      Test: ["CMD", "check", "it"],
      Interval: 1_500_000_000,
      Timeout: 2_000_000_000,
      Retries: 3,
      StartPeriod: 0,
    },
    HostConfig: {
      PortBindings: { "53/udp": [{ HostPort: "30053" }], "53/tcp": [{ HostPort: "30053" }] },
      RestartPolicy: { Name: "on-failure" },
      NanoCpus: 100_000_000,
      Memory: 64_000_000,
      Devices: [{ PathOnHost: "/dev/ttyUSB0", PathInContainer: "/dev/modem", CgroupPermissions: "rw" }],
    },
  });
});

test("Podman gives a container what Docker gives each, and what the app asks for instead", () => {
  const defaults = { ShmSize: 67_108_864, PidsLimit: 4_194_304 };
  const port = { "net.ipv4.ip_unprivileged_port_start": "0" };
  const Sysctls = { ...port, "net.ipv4.ping_group_range": "0 2147483647" };
  expect(createOptions(REQUEST, PODMAN).HostConfig).toMatchObject({ ...defaults, Sysctls });
  expect(createOptions(REQUEST, { kind: "podman", isRootless: true }).HostConfig?.Sysctls).toEqual(port);
  expect(createOptions({ ...REQUEST, hostNetwork: true }, PODMAN).HostConfig?.Sysctls).toEqual({});
  const own = { "net.ipv4.ip_unprivileged_port_start": "90", "net.core.somaxconn": "7" };
  const { HostConfig } = createOptions({ ...REQUEST, options: { shm_size: 5, sysctls: own } }, PODMAN);
  expect(HostConfig).toMatchObject({ ShmSize: 5, Sysctls: { ...Sysctls, ...own } });
});

test("a volume by name has set-user-id programs and devices with Podman too", () => {
  const namedVolumes = [{ name: "data", target: "/v", readonly: true }];
  const { HostConfig } = createOptions({ ...REQUEST, volumes: [], namedVolumes }, PODMAN);
  expect(HostConfig?.Binds).toEqual(["data:/v:ro,suid,dev"]);
});

test("on the host's network nothing is published", () => {
  const { ExposedPorts, HostConfig } = createOptions({ ...REQUEST, hostNetwork: true }, DOCKER);
  expect(ExposedPorts).toEqual({});
  expect(HostConfig).toMatchObject({ NetworkMode: "host", PortBindings: {} });
});

test("Podman gets one log file as large as all of Docker's", () => {
  const { HostConfig } = createOptions(REQUEST, PODMAN);
  expect(HostConfig?.LogConfig).toEqual({ Type: "k8s-file", Config: { "max-size": "3000" } });
});

const DIGEST = `sha256:${"0".repeat(64)}`;

test("a tag beside a digest is left out", () => {
  expect(localReference(`host:5000/team/app:1.0@${DIGEST}`)).toBe(`host:5000/team/app@${DIGEST}`);
  expect(localReference(`host:5000/app@${DIGEST}`)).toBe(`host:5000/app@${DIGEST}`);
  expect(localReference("host:5000/app:1.0")).toBe("host:5000/app:1.0");
  expect(localReference(DIGEST)).toBe(DIGEST);
});

test("the name to pull is complete", () => {
  expect(pullTarget("busybox")).toEqual({ fromImage: "docker.io/library/busybox", tag: "latest" });
  expect(pullTarget("host:5000/team/app:1.0")).toEqual({ fromImage: "host:5000/team/app", tag: "1.0" });
  expect(pullTarget(`team/app:1.0@${DIGEST}`)).toEqual({ fromImage: "docker.io/team/app", tag: DIGEST });
  expect(() => pullTarget("Not A Reference")).toThrow(expect.objectContaining({ kind: "invalid" }));
});
