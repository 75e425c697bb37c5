import { isDeepStrictEqual } from "node:util";
import { appExtras } from "../../src/protocol/apps/app-extras.ts";
import type { AppSpec } from "../../src/protocol/apps/app-spec.ts";

/*
 * Every field of an app, for tests that walk over all of them. A field that is missing here does not compile.
 */

/** A field's value with every field of its entries, or of the object. */
type Complete<T> = T extends readonly (infer E)[] ? Complete<E>[] : T extends object ? { [K in keyof T]-?: T[K] } : T;

/** An app with every field. */
export type FullSpec = { [K in keyof AppSpec]-?: Complete<NonNullable<AppSpec[K]>> };

export type AppField = keyof FullSpec;

/** An app in which every field differs from its default. */
export const FULL: FullSpec = {
  name: "full",
  image: "example/full:1",
  host_network: true,
  privileged: true,
  environments: [{ key: "LEVEL", value: "info", secret: true, secret_parts: ["in"] }],
  ports: [{ host_port: 30_053, target_port: 53, protocol: "udp", host_address: "127.0.0.1" }],
  volumes: [
    { local: "/var/lib/full", target: "/data", readonly: true, owner: "1000:1000" },
    {
      name: "full-cache",
      target: "/cache",
      readonly: true,
      owner: "1000:1000",
      nocopy: true,
      shared: true,
      subpath: "a/b",
    },
    { external: "full-storage", target: "/storage", readonly: true, nocopy: true, subpath: "c" },
  ],
  command: ["serve", "--all"],
  cpu_limit: 0.5,
  memory_limit: 268_435_456,
  devices: [{ local: "/dev/ttyUSB0", target: "/dev/ttyACM0", permissions: "rw" }],
  healthcheck: { command: ["check"], interval_s: 10, timeout_s: 5, retries: 2, start_period_s: 60 },
  restart_policy: "on-failure",
  pull: "changed",
  health_timeout_s: 300,
  entrypoint: ["/entry", "--first"],
  user: "1000:1000",
  working_dir: "/srv",
  cap_add: ["NET_ADMIN", "SYS_TIME"],
  cap_drop: ["CHOWN"],
  read_only: true,
  tmpfs: [{ target: "/run", size_bytes: 65_536, mode: "0755", owner: "1000:1000", exec: true }],
  shm_size: 1_048_576,
  ulimits: [{ name: "nofile", soft: 512, hard: 1024 }],
  sysctls: { "kernel.shm_rmid_forced": "1" },
  extra_hosts: [{ name: "plc.local", address: "192.0.2.10" }],
  dns: ["192.0.2.53"],
  dns_search: ["plant.local"],
  dns_options: ["ndots:1"],
  hostname: "plc-1",
  labels: { "com.example.team": "one" },
  init: true,
  stop_signal: "SIGINT",
  stop_grace_s: 60,
  log: { max_bytes: 65_536, max_files: 2 },
  gpus: { ids: ["0"] },
  group_add: ["20", "audio"],
  pids_limit: 100,
  security_opt: ["no-new-privileges"],
  pid: "host",
  ipc: "host",
  memory_swap_limit: 402_653_184,
  no_healthcheck: true,
  max_restarts: 3,
  tty: true,
  stdin_open: true,
  device_cgroup_rules: ["c 188:* rw"],
  project: "line-3",
  networks: ["frontend", "backend"],
  internal_networks: ["backend"],
  external_networks: ["frontend"],
  network: "none",
  aliases: ["broker"],
  files: [
    {
      target: "/etc/full.conf",
      size: 3,
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      secret_id: "3b241101-e2bb-4255-8caf-4136c566a962",
      mode: "0440",
      owner: "1000:1001",
      secret: true,
      directory: false,
    },
  ],
};

/** Another value of each field than in `FULL`, in the entries too. */
const OTHER: FullSpec = {
  name: "other",
  image: "example/full:2",
  host_network: false,
  privileged: false,
  environments: [{ key: "OTHER", value: "info and debug", secret: false, secret_parts: ["fo"] }],
  ports: [{ host_port: 30_054, target_port: 54, protocol: "tcp", host_address: "::1" }],
  volumes: [
    { local: "/var/lib/other", target: "/other", readonly: false, owner: "1001" },
    {
      name: "other-cache",
      target: "/other-cache",
      readonly: false,
      owner: "1001",
      nocopy: false,
      shared: false,
      subpath: "other",
    },
    { external: "other-storage", target: "/other-storage", readonly: false, nocopy: false, subpath: "other" },
  ],
  command: ["serve"],
  cpu_limit: 2,
  memory_limit: 134_217_728,
  devices: [{ local: "/dev/ttyUSB1", target: "/dev/ttyS0", permissions: "r" }],
  healthcheck: { command: ["other"], interval_s: 20, timeout_s: 6, retries: 4, start_period_s: 120 },
  restart_policy: "always",
  pull: "always",
  health_timeout_s: 600,
  entrypoint: ["/entry"],
  user: "daemon",
  working_dir: "/other",
  cap_add: ["SYS_NICE"],
  cap_drop: ["ALL"],
  read_only: false,
  tmpfs: [{ target: "/tmp", size_bytes: 131_072, mode: "1777", owner: "1001", exec: false }],
  shm_size: 2_097_152,
  ulimits: [{ name: "nproc", soft: 256, hard: 2048 }],
  sysctls: { "kernel.shm_rmid_forced": "0" },
  extra_hosts: [{ name: "plc", address: "host-gateway" }],
  dns: ["192.0.2.54", "2001:db8::53"],
  dns_search: ["."],
  dns_options: ["timeout:1", "use-vc"],
  hostname: "plc-2",
  labels: { "com.example.team": "two" },
  init: false,
  stop_signal: "SIGQUIT",
  stop_grace_s: 0,
  log: { max_bytes: 131_072, max_files: 4 },
  gpus: "all",
  group_add: ["video"],
  pids_limit: 200,
  security_opt: ["seccomp=unconfined"],
  // They have no other value.
  pid: "host",
  ipc: "host",
  memory_swap_limit: -1,
  no_healthcheck: false,
  max_restarts: 5,
  tty: false,
  stdin_open: false,
  device_cgroup_rules: ["b 8:0 r"],
  project: "line-4",
  networks: ["backend"],
  internal_networks: ["frontend"],
  external_networks: ["backend"],
  // It has no other value.
  network: "none",
  aliases: ["mqtt"],
  files: [
    {
      target: "/etc/other.conf",
      size: 4,
      sha256: "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589",
      secret_id: "9d1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d",
      mode: "0400",
      owner: "2000:2001",
      secret: false,
      directory: true,
    },
  ],
};

/** The value that means the same as the field's absence. `undefined`: there is none, or the field is required. */
export const DEFAULTS: Readonly<Record<AppField, unknown>> = {
  name: undefined,
  image: undefined,
  host_network: false,
  privileged: false,
  environments: [],
  ports: [],
  volumes: [],
  command: undefined,
  cpu_limit: undefined,
  memory_limit: undefined,
  devices: [],
  healthcheck: undefined,
  restart_policy: "unless-stopped",
  pull: undefined,
  health_timeout_s: undefined,
  entrypoint: undefined,
  user: undefined,
  working_dir: undefined,
  cap_add: [],
  cap_drop: [],
  read_only: false,
  tmpfs: [],
  shm_size: undefined,
  ulimits: [],
  sysctls: {},
  extra_hosts: [],
  dns: [],
  dns_search: [],
  dns_options: [],
  hostname: undefined,
  labels: {},
  init: false,
  stop_signal: undefined,
  stop_grace_s: undefined,
  log: undefined,
  gpus: undefined,
  group_add: [],
  pids_limit: undefined,
  security_opt: [],
  pid: undefined,
  ipc: undefined,
  memory_swap_limit: undefined,
  no_healthcheck: false,
  max_restarts: undefined,
  tty: false,
  stdin_open: false,
  device_cgroup_rules: [],
  project: undefined,
  networks: undefined,
  internal_networks: [],
  external_networks: [],
  network: undefined,
  aliases: [],
  files: [],
};

export const APP_FIELDS = Object.keys(FULL) as AppField[];

/** The fields that are no part of a specification by default. An update removes them with `null`. */
export const EXTRA_FIELDS = APP_FIELDS.filter((field) => Object.hasOwn(appExtras, field));

/** `FULL` with one field changed. `path`: as a person writes it, such as `volumes[].readonly`. */
export interface ChangedSpec {
  readonly field: AppField;
  readonly path: string;
  readonly spec: AppSpec;
}

/** Returns `FULL` once for each field with its other value, and once for each field inside lists and objects. */
export function everyChange(): ChangedSpec[] {
  const changing = APP_FIELDS.filter((field) => !isDeepStrictEqual(FULL[field], OTHER[field]));
  const whole = changing.map((field) => ({ field, path: field, spec: { ...FULL, [field]: OTHER[field] } }));
  return [...whole, ...APP_FIELDS.flatMap(changesInside)];
}

function changesInside(field: AppField): ChangedSpec[] {
  const [full, other]: unknown[] = [FULL[field], OTHER[field]];
  if (!Array.isArray(full) || !Array.isArray(other)) return changesOf(full, other, field, (changed) => changed);
  return full.flatMap((entry: unknown, index) => {
    const path = full.length > 1 ? `${field}[${index}]` : `${field}[]`;
    return changesOf(entry, other[index], path, (changed) => full.with(index, changed));
  });
}

function changesOf(from: unknown, to: unknown, path: string, place: (changed: object) => unknown): ChangedSpec[] {
  if (!isObject(from) || !isObject(to)) return [];
  const [field] = path.split("[") as [AppField];
  return Object.keys(from)
    .filter((name) => from[name] !== to[name])
    .map((name) => {
      const spec = { ...FULL, [field]: place({ ...from, [name]: to[name] }) };
      return { field, path: `${path}.${name}`, spec };
    });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
