import type { Converter } from "./service.ts";
import { convertBuild } from "./build.ts";
import { convertDependsOn, convertLinks } from "./depends-on.ts";
import { convertEnvFile, convertEnvironment, convertSecretNames } from "./environment.ts";
import { convertConfigs, convertSecrets } from "./files.ts";
import { convertHealthcheck } from "./healthcheck.ts";
import {
  convertDeploy,
  convertGpus,
  convertLogging,
  convertMemory,
  convertPidsLimit,
  convertProcessors,
  convertSwap,
  convertUlimits,
} from "./limits.ts";
import {
  boolean,
  command,
  convertContainerName,
  convertDevices,
  convertExtraHosts,
  convertPullPolicy,
  convertRestart,
  read,
  text,
  textMap,
  texts,
} from "./misc.ts";
import { convertNetworkMode, convertNetworks } from "./networks.ts";
import { convertPorts } from "./ports.ts";
import { readSize, readWholeSeconds } from "./quantities.ts";
import { convertTmpfs } from "./tmpfs.ts";
import { convertVolumes } from "./volumes.ts";

/** `KEY=VALUE`, or `KEY:VALUE` as it was written first. */
const convertSecurityOptions: Converter = (value, service) => {
  for (const item of value.items()) {
    const text = item.text();
    if (text === undefined) continue;
    const [key = "", setting = ""] = text.split(/[:=](.*)/s);
    if (key === "no-new-privileges") {
      // `false` is the default.
      if (setting !== "false") service.append("security_opt", key, item.place);
    } else if (key === "seccomp" && setting !== "unconfined") {
      item.refuse(
        "can only be unconfined for seccomp: a profile of your own is not sent to devices.",
        "The engine's own profile applies without it. Where this one is stricter, take rights away with `cap_drop`, `read_only` and `user`.",
      );
    } else service.append("security_opt", `${key}=${setting}`, item.place);
  }
};

const OTHERS = /^(?:service|container):/;

const convertPid: Converter = (value, service) => {
  const mode = value.text();
  if (mode === undefined || mode === "") return;
  if (mode === "host") service.set("pid", mode, value.place);
  else if (OTHERS.test(mode)) value.refuse("cannot have the processes of another service.");
  else value.refuse("must be host.");
};

const convertIpc: Converter = (value, service) => {
  const mode = value.text();
  if (mode === undefined || mode === "") return;
  if (mode === "host") service.set("ipc", mode, value.place);
  else if (mode === "shareable") value.note("is what private is: no other app can share the memory of this one.");
  else if (OTHERS.test(mode)) value.refuse("cannot have the shared memory of another service.");
  else if (mode !== "private") value.refuse("must be host, private or shareable.");
};

const convertCgroup: Converter = (value) => {
  const mode = value.text();
  if (mode === "private") value.note("is what engines do where the kernel has cgroup v2.");
  else if (mode === "host") value.refuse("would show the app the device's groups of processes.", "Remove it.");
  else if (mode !== undefined && mode !== "") value.refuse("must be private or host.");
};

const convertRuntime: Converter = (value) => {
  const runtime = value.text();
  if (runtime === "runc") value.note("is the engine's own.");
  else if (runtime === "nvidia") value.refuse("is not supported.", "Use `gpus: all`.");
  else if (runtime !== undefined) value.refuse("is not supported: apps run with the engine's own runtime.");
};

const convertUserNamespace: Converter = (value) => {
  const mode = value.text();
  if (mode === undefined || mode === "") return;
  if (mode === "host")
    value.note(
      "is what apps have, unless the owner of the device has the engine map users (userns-remap): that stays.",
    );
  else value.refuse("must be host.");
};

/** What becomes of a key of a compose file. */
export type KeyRule =
  /** @param to the fields of the app that it sets */
  | { readonly to: readonly string[]; readonly convert: Converter }
  /** Carried out, but not by a field of the app. */
  | { readonly means: string; readonly convert: Converter }
  /** Has no effect on an app. The note says why. */
  | { readonly note: string }
  /** Cannot be had. The advice says what to use instead, as long as it keeps what the file means. */
  | { readonly refusal: string; readonly advice?: string };

function mapped(to: string | readonly string[], convert: Converter): KeyRule {
  return { to: typeof to === "string" ? [to] : to, convert };
}

/** @param means what is done, for the reference; elsewhere than by the key's own converter, if it has none */
function carriedOut(means: string, convert: Converter = () => undefined): KeyRule {
  return { means, convert };
}

function ignored(note: string): KeyRule {
  return { note };
}

function refused(advice: string, refusal = "is not supported."): KeyRule {
  return { refusal, advice };
}

function unavailable(refusal: string): KeyRule {
  return { refusal };
}

const WINDOWS = refused("Remove it: it is for Windows.");

/** Every key of a service in the Compose specification, and what it becomes. */
export const SERVICE_KEYS: Readonly<Record<string, KeyRule>> = {
  annotations: refused("Use `labels`."),
  attach: ignored("has no effect here: apps run in the background."),
  blkio_config: unavailable("is not supported: the speed of disks is neither limited nor shared out."),
  build: carriedOut(
    "nothing is built, and the commands that do it are noted; without `image`, its name follows from `--build-registry`",
    convertBuild,
  ),
  cap_add: mapped("cap_add", texts("cap_add")),
  cap_drop: mapped("cap_drop", texts("cap_drop")),
  cgroup: carriedOut("`private` is noted: it is what engines do with cgroup v2; `host` is refused", convertCgroup),
  cgroup_parent: refused("Limit the service itself with `mem_limit`, `cpus` and `pids_limit`."),
  command: mapped("command", command("command")),
  configs: mapped("files", convertConfigs),
  container_name: mapped("aliases", convertContainerName),
  cpu_count: refused("Use `cpus`."),
  cpu_percent: refused("Use `cpus`."),
  cpu_period: refused("Use `cpus`."),
  cpu_quota: refused("Use `cpus`."),
  cpu_rt_period: unavailable("is not supported: processors have no real-time share."),
  cpu_rt_runtime: unavailable("is not supported: processors have no real-time share."),
  cpu_shares: refused("Use `cpus`."),
  cpus: mapped("cpu_limit", convertProcessors),
  cpuset: refused("Use `cpus`."),
  credential_spec: WINDOWS,
  depends_on: mapped("depends_on", convertDependsOn),
  deploy: mapped(["cpu_limit", "memory_limit", "pids_limit", "gpus", "restart_policy", "max_restarts"], convertDeploy),
  develop: ignored("has no effect here: it is for `docker compose watch`."),
  device_cgroup_rules: mapped("device_cgroup_rules", texts("device_cgroup_rules")),
  devices: mapped("devices", convertDevices),
  dns: mapped("dns", texts("dns")),
  dns_opt: mapped("dns_options", texts("dns_options")),
  dns_search: mapped("dns_search", texts("dns_search")),
  domainname: refused("Use `hostname`."),
  entrypoint: mapped("entrypoint", command("entrypoint")),
  env_file: mapped("environments", convertEnvFile),
  environment: mapped("environments", convertEnvironment),
  expose: ignored("has no effect here: apps reach each other by name on every port."),
  extends: carriedOut("the service has what the other one has, as in compose"),
  external_links: refused(
    "Give both services a network of one name (`networks: {shared: {name: shared}}`), on which they reach each other by name.",
  ),
  extra_hosts: mapped("extra_hosts", convertExtraHosts),
  gpus: mapped("gpus", convertGpus),
  group_add: mapped("group_add", texts("group_add")),
  healthcheck: mapped(["healthcheck", "no_healthcheck"], convertHealthcheck),
  hostname: mapped("hostname", text("hostname")),
  image: mapped("image", text("image")),
  init: mapped("init", boolean("init")),
  ipc: mapped("ipc", convertIpc),
  isolation: WINDOWS,
  label_file: refused("Use `labels`."),
  labels: mapped("labels", textMap("labels")),
  links: carriedOut("the order of `depends_on`, and `aliases` of the other app", convertLinks),
  logging: mapped("log", convertLogging),
  mac_address: unavailable("is not supported: the engine chooses it."),
  mem_limit: mapped("memory_limit", convertMemory),
  mem_reservation: ignored("has no effect here: nothing is set aside on a device."),
  mem_swappiness: refused("Use `memswap_limit`: the same as `mem_limit` for no swap."),
  memswap_limit: mapped("memory_swap_limit", convertSwap),
  models: unavailable("is not supported: nothing here runs models."),
  network_mode: mapped(["host_network", "network"], convertNetworkMode),
  networks: mapped(["networks", "internal_networks", "external_networks", "aliases"], convertNetworks),
  oom_kill_disable: refused("Use `mem_limit`."),
  oom_score_adj: refused("Limit its memory with `mem_limit`."),
  pid: mapped("pid", convertPid),
  pids_limit: mapped("pids_limit", convertPidsLimit),
  platform: ignored("has no effect here: a device pulls the image for its own platform."),
  ports: mapped("ports", convertPorts),
  post_start: refused("Do it in the entrypoint."),
  pre_stop: refused("Handle the `stop_signal` in the app."),
  privileged: mapped("privileged", boolean("privileged")),
  profiles: carriedOut("the service is left out unless `--profile` or `COMPOSE_PROFILES` chooses it"),
  provider: unavailable("is not supported: it is a program of the machine that compose runs on."),
  pull_policy: mapped("pull", convertPullPolicy),
  pull_refresh_after: refused("Use `pull_policy: always`."),
  read_only: mapped("read_only", boolean("read_only")),
  restart: mapped(["restart_policy", "max_restarts"], convertRestart),
  runtime: carriedOut("`runc` is noted: it is the engine's own; others are refused", convertRuntime),
  scale: refused("Give each copy a service.", "is not supported: an app runs once on a device."),
  secrets: mapped("files", convertSecrets),
  security_opt: mapped("security_opt", convertSecurityOptions),
  shm_size: mapped("shm_size", read("shm_size", readSize)),
  stdin_open: mapped("stdin_open", boolean("stdin_open")),
  stop_grace_period: mapped("stop_grace_s", read("stop_grace_s", readWholeSeconds)),
  stop_signal: mapped("stop_signal", text("stop_signal")),
  storage_opt: refused("Use `read_only: true`, and a `tmpfs` with a size for what the app writes."),
  sysctls: mapped("sysctls", textMap("sysctls")),
  tmpfs: mapped("tmpfs", convertTmpfs),
  tty: mapped("tty", boolean("tty")),
  ulimits: mapped("ulimits", convertUlimits),
  use_api_socket: refused("Remove it: an app with the engine's socket has the whole device."),
  user: mapped("user", text("user")),
  userns_mode: carriedOut("`host` is noted: apps have the users of the engine", convertUserNamespace),
  uts: refused("Use `hostname`."),
  volumes: mapped(["volumes", "files", "tmpfs"], convertVolumes),
  volumes_from: refused("Name the same volume in both services."),
  working_dir: mapped("working_dir", text("working_dir")),
  /** Ours: Compose has no way to declare the value of a variable a secret. */
  "x-edge-secrets": mapped("environments", convertSecretNames),
};

/** The keys of a compose file that are read apart from this table. */
export const FILE_SECTIONS = ["name", "services", "networks", "volumes", "configs", "secrets"] as const;

/** All other keys of a compose file. */
export const FILE_KEYS: Readonly<Record<string, KeyRule>> = {
  version: ignored("has no effect here, and none in compose either."),
  include: carriedOut("the file's services, networks, volumes, configs and secrets, as in compose"),
  models: unavailable("is not supported: nothing here runs models."),
};
