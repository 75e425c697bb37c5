import { readlinkSync } from "node:fs";
import { expect } from "vitest";
import type { AppSpec } from "../../../src/protocol/apps/app-spec.ts";
import type { ContainerOptions } from "../../../src/protocol/apps/container-options.ts";
import type { EngineUnderTest } from "./deployed-container.ts";

/** What `inspect` returns, as far as the cases look at it. */
export interface Inspected {
  readonly Config: Readonly<Record<string, unknown>>;
  readonly HostConfig: Readonly<Record<string, unknown>>;
}

/** One value of an option, and how it shows in a container. */
export interface Case<T> {
  readonly value: T;
  /** Fields of the app beside the option. */
  readonly more?: Partial<AppSpec>;
  /** What `inspect` of the engine contains. */
  readonly inspected: (kind: EngineUnderTest["kind"]) => { readonly [K in keyof Inspected]?: object };
  /** What `inspect` of Podman's own interface contains. */
  readonly podman?: object;
  /** A script in the container, and what its output contains. Absent where nothing shows inside. */
  readonly inside?: { readonly script: string; readonly output: RegExp };
  /** Why it does not run here; absent where it does. */
  readonly notStarted?: (kind: EngineUnderTest["kind"]) => string | undefined;
}

/** That of the device, on which the test runs as the engine does. */
const OWN_IPC = readlinkSync("/proc/self/ns/ipc");
const STATUS = "cat /proc/self/status";
// Podman does not list a tmpfs in `HostConfig.Tmpfs` with the options it was created with.
const asPodman = <T>(kind: string, podman: T, docker: T): T => (kind === "podman" ? podman : docker);

/** Every option of a container. One that is missing here does not compile. */
export const CASES: { readonly [K in keyof ContainerOptions]-?: Case<NonNullable<ContainerOptions[K]>> } = {
  entrypoint: {
    value: ["/bin/sh", "-c", 'echo "said $0"; exec sleep 2147483'],
    more: { command: ["more"] },
    inspected: (kind) => ({
      // Podman joins the list.
      Config: {
        Entrypoint: asPodman<unknown>(kind, expect.anything(), ["/bin/sh", "-c", expect.stringContaining("said")]),
      },
    }),
    inside: { script: "", output: /^said more$/m },
  },
  user: {
    value: "1234:2345",
    inspected: () => ({ Config: { User: "1234:2345" } }),
    inside: { script: STATUS, output: /Uid:\s+1234[^]*Gid:\s+2345/ },
  },
  working_dir: {
    value: "/www/cgi-bin",
    inspected: () => ({ Config: { WorkingDir: "/www/cgi-bin" } }),
    inside: { script: "pwd", output: /^\/www\/cgi-bin$/m },
  },
  cap_add: {
    value: ["NET_ADMIN"],
    inspected: () => ({ HostConfig: { CapAdd: [expect.stringMatching(/^(CAP_)?NET_ADMIN$/)] } }),
    // Its number in linux/capability.h: 12.
    inside: { script: STATUS, output: /CapPrm:\s+\w*[1357-9b-f]\w{3}\n/ },
  },
  cap_drop: {
    value: ["ALL"],
    inspected: (kind) => ({
      HostConfig: { CapDrop: asPodman<unknown>(kind, expect.arrayContaining(["CHOWN", "SETUID"]), ["ALL"]) },
    }),
    inside: { script: STATUS, output: /CapBnd:\s+0+\n/ },
  },
  read_only: {
    value: true,
    inspected: () => ({ HostConfig: { ReadonlyRootfs: true } }),
    inside: { script: "echo x > /www/file || echo refused", output: /^refused$/m },
  },
  tmpfs: {
    value: [
      { target: "/scratch", size_bytes: 65_536, mode: "0700" },
      { target: "/www/more" },
      { target: "/www/programs", exec: true },
    ],
    inspected: () => ({
      HostConfig: {
        Tmpfs: expect.objectContaining({ "/scratch": expect.stringContaining("size=65536") as string }) as object,
      },
    }),
    inside: {
      script: "sort -k 2 /proc/mounts",
      output:
        /tmpfs \/scratch tmpfs (?=\S*size=64k)(?=\S*mode=700)[^]*tmpfs \/www\/more tmpfs \S*noexec[^]*tmpfs \/www\/programs tmpfs (?!\S*noexec)/,
    },
  },
  shm_size: {
    value: 1_048_576,
    inspected: () => ({ HostConfig: { ShmSize: 1_048_576 } }),
    inside: { script: "cat /proc/mounts", output: / \/dev\/shm tmpfs \S*size=1024k/ },
  },
  ulimits: {
    value: [
      { name: "nofile", soft: 256, hard: 512 },
      { name: "core", soft: 0 },
    ],
    inspected: () => ({
      HostConfig: {
        Ulimits: expect.arrayContaining([
          { Name: expect.stringMatching(/nofile/i) as string, Soft: 256, Hard: 512 },
          { Name: expect.stringMatching(/core/i) as string, Soft: 0, Hard: 0 },
        ]) as object,
      },
    }),
    inside: { script: "cat /proc/self/limits", output: /Max core file size\s+0\s+0[^]*Max open files\s+256\s+512/ },
  },
  sysctls: {
    value: { "net.core.somaxconn": "777", "kernel.msgmax": "9000" },
    inspected: (kind) =>
      asPodman<object>(kind, {}, { HostConfig: { Sysctls: { "net.core.somaxconn": "777", "kernel.msgmax": "9000" } } }),
    inside: { script: "cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmax", output: /^777\n9000$/m },
  },
  extra_hosts: {
    value: [
      { name: "plc.local", address: "192.0.2.10" },
      { name: "six", address: "2001:db8::1" },
      { name: "device", address: "host-gateway" },
    ],
    inspected: () => ({
      HostConfig: { ExtraHosts: expect.arrayContaining(["plc.local:192.0.2.10", "six:2001:db8::1"]) as object },
    }),
    inside: {
      script: "cat /etc/hosts",
      output: /(?=[^]*192\.0\.2\.10\s+plc\.local)(?=[^]*2001:db8::1\s+six)(?=[^]*\n(?!127)\d+\.\d+\.\d+\.1\s+device)/,
    },
  },
  dns: {
    value: ["192.0.2.53", "2001:db8::53"],
    inspected: () => ({ HostConfig: { Dns: ["192.0.2.53", "2001:db8::53"] } }),
    // Docker's own name service, which asks these servers for what is no app; Podman has none beside them.
    inside: {
      script: "cat /etc/resolv.conf",
      output: /nameserver (?:127\.0\.0\.11|192\.0\.2\.53\nnameserver 2001:db8::53)/,
    },
  },
  dns_search: {
    value: ["plant.local", "site.example"],
    inspected: () => ({ HostConfig: { DnsSearch: ["plant.local", "site.example"] } }),
    inside: { script: "cat /etc/resolv.conf", output: /^search plant\.local site\.example$/m },
  },
  dns_options: {
    value: ["ndots:2", "use-vc"],
    inspected: () => ({ HostConfig: { DnsOptions: ["ndots:2", "use-vc"] } }),
    inside: { script: "cat /etc/resolv.conf", output: /^options (?=.*ndots:2)(?=.*use-vc)/m },
  },
  hostname: {
    value: "plc-1",
    inspected: () => ({ Config: { Hostname: "plc-1" } }),
    inside: { script: "cat /proc/sys/kernel/hostname", output: /^plc-1$/m },
  },
  labels: {
    value: { "com.example.team": "line 3" },
    inspected: () => ({ Config: { Labels: expect.objectContaining({ "com.example.team": "line 3" }) as object } }),
  },
  init: {
    value: true,
    inspected: () => ({ HostConfig: { Init: true } }),
    inside: { script: "cat /proc/1/comm", output: /init/ },
  },
  stop_signal: {
    value: "SIGINT",
    inspected: (kind) => ({ Config: { StopSignal: asPodman(kind, "2", "SIGINT") } }),
  },
  stop_grace_s: {
    value: 25,
    inspected: () => ({ Config: { StopTimeout: 25 } }),
  },
  log: {
    value: { max_bytes: 65_536, max_files: 2 },
    inspected: (kind) =>
      asPodman<object>(
        kind,
        {},
        { HostConfig: { LogConfig: { Type: "json-file", Config: { "max-size": "65536", "max-file": "2" } } } },
      ),
    // Its other interface names another driver. One file of the size of both.
    podman: { HostConfig: { LogConfig: { Type: "k8s-file", Size: "131.1kB" } } },
  },
  gpus: {
    value: { ids: ["0"] },
    inspected: (kind) =>
      asPodman<object>(
        kind,
        {},
        {
          HostConfig: { DeviceRequests: [expect.objectContaining({ DeviceIDs: ["0"], Capabilities: [["gpu"]] })] },
        },
      ),
    notStarted: () => "there is no GPU",
  },
  group_add: {
    value: ["20", "1234"],
    inspected: () => ({ HostConfig: { GroupAdd: expect.arrayContaining(["20", "1234"]) as object } }),
    inside: { script: STATUS, output: /Groups:[^\n]*\b20\b[^\n]*\b1234\b/ },
  },
  pids_limit: {
    value: 77,
    inspected: () => ({ HostConfig: { PidsLimit: 77 } }),
  },
  security_opt: {
    value: ["no-new-privileges", "seccomp=unconfined"],
    inspected: (kind) =>
      asPodman<object>(
        kind,
        {},
        { HostConfig: { SecurityOpt: expect.arrayContaining(["no-new-privileges", "seccomp=unconfined"]) as object } },
      ),
    inside: { script: STATUS, output: /(?=[^]*NoNewPrivs:\s+1\n)(?=[^]*Seccomp:\s+0\n)/ },
  },
  pid: {
    value: "host",
    inspected: () => ({ HostConfig: { PidMode: "host" } }),
    inside: { script: "echo my number is $$; readlink /proc/self/ns/pid", output: /my number is \d{2,}/ },
  },
  ipc: {
    value: "host",
    // Podman's Docker-compatible interface always says shareable.
    inspected: (kind) => asPodman<object>(kind, {}, { HostConfig: { IpcMode: "host" } }),
    inside: { script: "echo $(readlink /proc/self/ns/ipc)", output: new RegExp(OWN_IPC.replace(/[[\]]/g, "\\$&")) },
  },
  no_healthcheck: {
    value: true,
    inspected: () => ({ Config: { Healthcheck: { Test: ["NONE"] } } }),
  },
  max_restarts: {
    value: 3,
    more: { restart_policy: "on-failure" },
    inspected: () => ({ HostConfig: { RestartPolicy: { Name: "on-failure", MaximumRetryCount: 3 } } }),
  },
  tty: {
    value: true,
    inspected: () => ({ Config: { Tty: true } }),
    inside: { script: "test -t 0 && test -t 1 && test -t 2 && echo terminal", output: /^terminal$/m },
  },
  stdin_open: {
    value: true,
    inspected: () => ({ Config: { OpenStdin: true } }),
    // Without it, the input is /dev/null.
    inside: { script: "readlink /proc/self/fd/0", output: /^pipe:/m },
  },
  device_cgroup_rules: {
    value: ["c 188:* rw"],
    inspected: (kind) => asPodman<object>(kind, {}, { HostConfig: { DeviceCgroupRules: ["c 188:* rw"] } }),
    notStarted: (kind) => (kind === "podman" ? "Podman ignores it, and the check refuses it" : undefined),
    // Without the rule, the kernel does not even look whether an adapter is plugged in.
    inside: { script: "mknod /www/adapter c 188 250; cat /www/adapter", output: /No such (device|file)/ },
  },
  memory_swap_limit: {
    value: 100_663_296,
    more: { memory_limit: 67_108_864 },
    inspected: () => ({ HostConfig: { MemorySwap: 100_663_296 } }),
  },
};
