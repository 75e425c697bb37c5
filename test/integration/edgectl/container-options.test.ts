import { expect, test } from "vitest";
import { CLEARED_CONTAINER_FIELDS } from "../../../src/edgectl/deploy/container-flags.ts";
import { type ContainerOptions, containerOptions } from "../../../src/protocol/apps/container-options.ts";
import { parseRequestedAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { event, json, startScriptedService, stream } from "../../support/edgectl/scripted-service.ts";

const APPS = "/v1/assets/GW-1/edge/apps";
const WEB = `${APPS}/web`;
const SUCCESS = { status: "Success", step: "done", message: "App web is running." };

const APP = {
  name: "web",
  image: "web:1",
  image_digest: null,
  state: "running",
  desired_state: "running",
  since: 1_795_000_000,
  restarts: 0,
  ports: [],
  last_deployment: null,
  reported_at: 1_795_000_000,
  reachable: true,
};

/** The options of the command line for each option of a container. One that is missing here does not compile. */
const FLAGS: {
  readonly [K in keyof ContainerOptions]-?: readonly [args: readonly string[], value: ContainerOptions[K]];
} = {
  entrypoint: [
    ["--entrypoint", "/entry", "--entrypoint=-c"],
    ["/entry", "-c"],
  ],
  user: [["--user", "1000:1000"], "1000:1000"],
  working_dir: [["--workdir", "/srv"], "/srv"],
  cap_add: [
    ["--cap-add", "cap_net_admin", "--cap-add", "SYS_TIME"],
    ["NET_ADMIN", "SYS_TIME"],
  ],
  cap_drop: [["--cap-drop", "ALL"], ["ALL"]],
  read_only: [["--read-only"], true],
  tmpfs: [
    ["--tmpfs", "/run:size=64KiB,mode=0755", "--tmpfs", "/tmp:exec", "--tmpfs", "/srv:uid=5"],
    [
      { target: "/run", size_bytes: 65_536, mode: "0755" },
      { target: "/tmp", exec: true },
      { target: "/srv", owner: "5:0" },
    ],
  ],
  shm_size: [["--shm-size", "128MiB"], 134_217_728],
  ulimits: [
    ["--ulimit", "nofile=1024:unlimited", "--ulimit", "core=-1"],
    [
      { name: "nofile", soft: 1024, hard: -1 },
      { name: "core", soft: -1 },
    ],
  ],
  sysctls: [["--sysctl", "net.core.somaxconn=1024"], { "net.core.somaxconn": "1024" }],
  extra_hosts: [
    ["--add-host", "plc:192.0.2.1", "--add-host", "six:[2001:db8::1]", "--add-host", "gw:host-gateway"],
    [
      { name: "plc", address: "192.0.2.1" },
      { name: "six", address: "2001:db8::1" },
      { name: "gw", address: "host-gateway" },
    ],
  ],
  dns: [
    ["--dns", "192.0.2.53", "--dns", "2001:db8::53"],
    ["192.0.2.53", "2001:db8::53"],
  ],
  dns_search: [
    ["--dns-search", "plant.local", "--dns-search", "."],
    ["plant.local", "."],
  ],
  dns_options: [["--dns-option", "ndots:1"], ["ndots:1"]],
  hostname: [["--hostname", "plc-1"], "plc-1"],
  labels: [["--label", "a=b=c", "--label", "empty="], { a: "b=c", empty: "" }],
  init: [["--init"], true],
  tty: [["--tty"], true],
  stdin_open: [["--interactive"], true],
  device_cgroup_rules: [["--device-cgroup-rule", "c 188:* rw"], ["c 188:* rw"]],
  stop_signal: [["--stop-signal", "SIGINT"], "SIGINT"],
  stop_grace_s: [["--stop-timeout", "60"], 60],
  log: [["--log-max-size", "1MiB", "--log-max-files", "2"], { max_bytes: 1_048_576, max_files: 2 }],
  gpus: [["--gpus", "0,GPU-1"], { ids: ["0", "GPU-1"] }],
  group_add: [
    ["--group-add", "20", "--group-add", "audio"],
    ["20", "audio"],
  ],
  pids_limit: [["--pids-limit", "200"], 200],
  security_opt: [["--security-opt", "no-new-privileges"], ["no-new-privileges"]],
  pid: [["--pid", "host"], "host"],
  ipc: [["--ipc", "host"], "host"],
  no_healthcheck: [["--without-healthcheck"], true],
  max_restarts: [["--restart", "on-failure", "--max-restarts", "3"], 3],
  memory_swap_limit: [["--memory-swap", "-1", "--memory", "64MiB"], -1],
};

async function setUp() {
  const service = await startScriptedService();
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" };
  for (const route of [`POST ${APPS}`, `PATCH ${WEB}`]) service.on(route, stream([event(1), event(2, SUCCESS)]));
  return {
    service,
    run: (args: readonly string[]) => user.run(args, { env }),
    bodyOf: (method: string) => JSON.parse(service.requests.findLast((seen) => seen.method === method)?.body ?? "null"),
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

test("edgectl deploy has an option for each option of a container, and the service accepts what it sends", async () => {
  await using rig = await setUp();
  const args = Object.values(FLAGS).flatMap(([flags]) => flags);
  const { code, stderr } = await rig.run(["deploy", "GW-1", "--name", "web", "--image", "web:1", ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const expected = Object.fromEntries(Object.entries(FLAGS).map(([field, [, value]]) => [field, value]));
  const body = rig.bodyOf("POST");
  expect(body).toEqual({
    name: "web",
    image: "web:1",
    memory_limit: 67_108_864,
    restart_policy: "on-failure",
    ...expected,
  });
  // Some contradict each other, which only a new app is checked for.
  expect(parseRequestedAppSpec(body)).toMatchObject({ ok: true });
});

test("edgectl apps update clears each of them", async () => {
  await using rig = await setUp();
  const names = Object.keys(CLEARED_CONTAINER_FIELDS).flatMap((name) => ["--clear", name]);
  const { code, stderr } = await rig.run(["apps", "update", "GW-1", "web", ...names]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(rig.bodyOf("PATCH")).toEqual(Object.fromEntries(Object.keys(containerOptions).map((field) => [field, null])));
});

test("edgectl apps update adds single entries to those that the app has, and replaces those of the same name", async () => {
  await using rig = await setUp();
  const spec = {
    name: "web",
    image: "web:1",
    cap_add: ["NET_ADMIN", "SYS_TIME"],
    tmpfs: [{ target: "/run" }],
    ulimits: [{ name: "nofile", soft: 1, hard: 2 }],
    labels: { a: "1", b: "2" },
  };
  rig.service.on(`GET ${WEB}`, json(200, { ...APP, spec }));
  const added = ["--cap-add", "CAP_SYS_TIME", "--tmpfs", "/run/:size=4096", "--ulimit", "core=0", "--label", "b=3"];
  const others = ["--sysctl", "kernel.msgmax=1", "--clear", "cap-drop", "--cap-drop", "CHOWN"];
  await rig.run(["apps", "update", "GW-1", "web", ...added, ...others]);
  expect(rig.bodyOf("PATCH")).toEqual({
    cap_add: ["NET_ADMIN", "SYS_TIME"],
    tmpfs: [{ target: "/run/", size_bytes: 4096 }],
    ulimits: [
      { name: "nofile", soft: 1, hard: 2 },
      { name: "core", soft: 0 },
    ],
    labels: { a: "1", b: "3" },
    sysctls: { "kernel.msgmax": "1" },
    cap_drop: ["CHOWN"],
  });
});

test.each([
  [["--tmpfs", "run"], "Write PATH or PATH:size=64MiB,mode=0755"],
  [["--tmpfs", "/run:noexec"], "Write PATH or PATH:size=64MiB,mode=0755"],
  [["--ulimit", "nofile"], "Write NAME=SOFT"],
  [["--sysctl", "net.core.somaxconn"], "Write KEY=VALUE"],
  [["--label", "=x"], "Write KEY=VALUE"],
  [["--add-host", "plc"], "Write NAME:ADDRESS"],
  [["--stop-timeout", "601"], "from 0 to 600"],
  [["--log-max-files", "2"], "--log-max-files needs a size"],
])("%j is refused with exit code 2", async (args, message) => {
  await using rig = await setUp();
  const { code, stderr } = await rig.run(["apps", "update", "GW-1", "web", ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(rig.service.requests).toEqual([]);
});
