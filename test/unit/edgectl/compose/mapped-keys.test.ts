import { describe, expect, test } from "vitest";
import { convert, convertWeb, variables } from "../../../support/edgectl/compose.ts";

const NAMED = "volumes:\n  data:\nnetworks:\n  inner: {internal: true}\n  front:\n  back: {name: shared}\n";

describe("what a service's keys become", () => {
  test.each<[string, object]>([
    ["command: serve --all 'two words'", { command: ["serve", "--all", "two words"] }],
    ["command: [serve, 8080, true]", { command: ["serve", "8080", "true"] }],
    ["command:", {}],
    ["entrypoint: /init.sh\ncommand: [a]", { entrypoint: ["/init.sh"], command: ["a"] }],
    ["container_name: web", {}],
    ["container_name: my-web", { aliases: ["my-web"] }],
    [
      "container_name: www\nnetworks: {front: {aliases: [WWW, site, web]}}",
      { networks: ["gw_front"], aliases: ["www", "site"] },
    ],
    ["container_name: my-web\nnetwork_mode: host", { host_network: true }],
    ["group_add: [audio, 20]", { group_add: ["audio", "20"] }],
    ["pids_limit: 100", { pids_limit: 100 }],
    ["pids_limit: -1\ndeploy: {resources: {limits: {pids: 0}}}", {}],
    ["deploy: {resources: {limits: {pids: 5}}}", { pids_limit: 5 }],
    [
      "security_opt: ['no-new-privileges:true', 'seccomp:unconfined', apparmor=docker-default]",
      { security_opt: ["no-new-privileges", "seccomp=unconfined", "apparmor=docker-default"] },
    ],
    ["security_opt: ['no-new-privileges:false']", {}],
    ["healthcheck: {disable: true}", { no_healthcheck: true }],
    ["healthcheck: {test: [NONE]}", { no_healthcheck: true }],
    ["healthcheck: {test: NONE}", { no_healthcheck: true }],
    ["pid: host\nipc: host", { pid: "host", ipc: "host" }],
    ["ipc: private", {}],
    ["device_cgroup_rules: ['c 188:* rw']", { device_cgroup_rules: ["c 188:* rw"] }],
    ["tty: true\nstdin_open: true", { tty: true, stdin_open: true }],
    ["tty: false\nstdin_open: 'false'", { tty: false, stdin_open: false }],
    ["userns_mode: host", {}],
    ["mem_limit: 64m\nmemswap_limit: 96m", { memory_limit: 67_108_864, memory_swap_limit: 100_663_296 }],
    ["mem_limit: 64m\nmemswap_limit: -1", { memory_limit: 67_108_864, memory_swap_limit: -1 }],
    ["memswap_limit: 1g", {}],
    ["ports: ['127.0.0.1:80:8080', '[::1]:81:81/udp']", { ports: ["127.0.0.1:80:8080/tcp", "::1:81:81/udp"] }],
    ["ports: [{target: 80, published: 30080, host_ip: 192.168.1.5}]", { ports: ["192.168.1.5:30080:80/tcp"] }],
    [
      "tmpfs: ['/run:uid=1000,gid=5', '/a:gid=5']",
      {
        tmpfs: [
          { target: "/run", owner: "1000:5" },
          { target: "/a", owner: "0:5" },
        ],
      },
    ],
    ["tmpfs: ['/run:exec']", { tmpfs: [{ target: "/run", exec: true }] }],
    ["volumes: ['data:/data:nocopy']", { volumes: [{ ...named("gw_data", "/data"), nocopy: true }] }],
    [
      "volumes: [{type: volume, source: data, target: /d, volume: {subpath: ./conf//site/}}]",
      { volumes: [{ ...named("gw_data", "/d"), subpath: "conf/site" }] },
    ],
    [
      "volumes: [{type: volume, source: data, target: /d, volume: {subpath: ., nocopy: true}}]",
      { volumes: [{ ...named("gw_data", "/d"), nocopy: true }] },
    ],
    ["volumes: ['/srv:/srv:ro,rslave']", { volumes: [bind("/srv", "/srv", true)] }],
    ["logging: {driver: none}", {}],
    ["hostname: my_host", { hostname: "my_host" }],
    ["hostname: gateway", { hostname: "gateway" }],
    ["restart: always", { restart_policy: "always" }],
    ["restart: on-failure:3", { restart_policy: "on-failure", max_restarts: 3 }],
    ["restart: on-failure:0", { restart_policy: "on-failure" }],
    [
      "deploy: {restart_policy: {condition: on-failure, max_attempts: 4, window: 120s}}",
      { restart_policy: "on-failure", max_restarts: 4 },
    ],
    ["deploy: {restart_policy: {condition: none, max_attempts: 4}}", { restart_policy: "no" }],
    ["deploy: {restart_policy: {max_attempts: 0}}", { restart_policy: "always" }],
    ["restart: always\ndeploy: {restart_policy: {max_attempts: 3}}", { restart_policy: "always" }],
    ["restart: no", { restart_policy: "no" }],
    ["restart: false", { restart_policy: "no" }],
    [
      "environment:\n  A: 1.10\n  B: true\n  C: ''\n  D: x=y",
      { environments: variables({ A: "1.10", B: "true", C: "", D: "x=y" }) },
    ],
    ["environment:\n  - A=1\n  - B=\n  - C=x=y", { environments: variables({ A: "1", B: "", C: "x=y" }) }],
    ["environment: [A]", { environments: variables({ A: "from-shell" }) }],
    ["environment: {A: }", { environments: variables({ A: "from-shell" }) }],
    [
      "environment: [PASSWORD=x, B=y]\nx-edge-secrets: [PASSWORD]",
      {
        environments: [
          { key: "PASSWORD", value: "x", secret: true },
          { key: "B", value: "y" },
        ],
      },
    ],
    [
      "ports: ['80:8080', 22:22, '53:53/udp', '0.0.0.0:1883:1883']",
      { ports: ["80:8080/tcp", "22:22/tcp", "53:53/udp", "1883:1883/tcp"] },
    ],
    [
      "ports: ['9000-9002:8000-8002', 3000]",
      { ports: ["9000:8000/tcp", "9001:8001/tcp", "9002:8002/tcp", ":3000/tcp"] },
    ],
    ["ports: ['[::]:80:8080', ':81:81']", { ports: ["80:8080/tcp", "81:81/tcp"] }],
    ["ports: [{target: 80, published: '8080', protocol: udp}]", { ports: ["8080:80/udp"] }],
    [
      "volumes: ['data:/data', data:/again:ro]",
      { volumes: [named("gw_data", "/data"), named("gw_data", "/again", true)] },
    ],
    ["volumes: ['/etc/localtime:/etc/localtime:ro']", { volumes: [bind("/etc/localtime", "/etc/localtime", true)] }],
    [
      "volumes: [{type: volume, source: data, target: /data, read_only: true}]",
      { volumes: [named("gw_data", "/data", true)] },
    ],
    [
      "volumes: [{type: bind, source: /srv, target: /srv, bind: {create_host_path: true}}]",
      { volumes: [bind("/srv", "/srv")] },
    ],
    [
      "volumes: [{type: tmpfs, target: /run, tmpfs: {size: 64m, mode: 01777}}]",
      { tmpfs: [{ target: "/run", size_bytes: 2 ** 26, mode: "1777" }] },
    ],
    ["tmpfs: /run", { tmpfs: [{ target: "/run" }] }],
    ["tmpfs: ['/run:size=1m,mode=755,noexec']", { tmpfs: [{ target: "/run", size_bytes: 2 ** 20, mode: "755" }] }],
    [
      "devices: ['/dev/ttyUSB0:/dev/ttyACM0', '/dev/i2c-1:/dev/i2c-1:rw', /dev/video0]",
      {
        devices: [
          { local: "/dev/ttyUSB0", target: "/dev/ttyACM0" },
          { local: "/dev/i2c-1", target: "/dev/i2c-1", permissions: "rw" },
          { local: "/dev/video0" },
        ],
      },
    ],
    [
      "devices: [{source: /dev/ttyS0, target: /dev/a, permissions: r}]",
      { devices: [{ local: "/dev/ttyS0", target: "/dev/a", permissions: "r" }] },
    ],
    ["depends_on: [db]", { depends_on: { db: "started" } }],
    ["depends_on: {db: {condition: service_completed_successfully}}", { depends_on: { db: "completed" } }],
    ["depends_on: {db: {condition: service_healthy}}", { depends_on: { db: "healthy" } }],
    [
      "restart: always\ndepends_on: {db: {condition: service_started, required: true, restart: false}}",
      { restart_policy: "always", depends_on: { db: "started" } },
    ],
    ["depends_on: {nobody: {condition: service_started, required: false}}", {}],
    ["links: [db]", { depends_on: { db: "started" } }],
    ["links: [db]\ndepends_on: {db: {condition: service_healthy}}", { depends_on: { db: "healthy" } }],
    ["cpus: .5\nmem_limit: 0", { cpu_limit: 0.5 }],
    ["cpus: 0", {}],
    ["deploy: {mode: global, placement: {constraints: [a]}, update_config: {order: x}}", {}],
    ["memswap_limit: '0'", {}],
    ["healthcheck: {test: [CMD, x], interval: 500ms}", { healthcheck: { command: ["x"], interval_s: 1 } }],
    ["volumes: ['data:/data:Z']", { volumes: [named("gw_data", "/data")] }],
    ["hostname: a$", { hostname: "a$" }],
    ["environment: [UNSET, A]", { environments: variables({ A: "from-shell" }) }],
    ["environment: {UNSET: , B: '$UNSET'}", { environments: variables({ B: "" }) }],
    ["build: {context: ./web, dockerfile: D}", {}],
    ["networks: [front, back]", { networks: ["gw_front", "shared"] }],
    ["networks: {front: {aliases: [web]}, back: }", { networks: ["gw_front", "shared"] }],
    ["networks: [default]", {}],
    ["networks: [inner, front]", { networks: ["gw_inner", "gw_front"], internal_networks: ["gw_inner"] }],
    ["network_mode: host", { host_network: true }],
    ["network_mode: none", { network: "none" }],
    ["network_mode: service:db", { network: "app:db", depends_on: { db: "started" } }],
    [
      "network_mode: service:db\ndepends_on: {db: {condition: service_healthy}}",
      { network: "app:db", depends_on: { db: "healthy" } },
    ],
    ["network_mode: container:database", { network: "app:db", depends_on: { db: "started" } }],
    // The agent makes the container anew where that of the other one is.
    [
      "network_mode: service:db\nrestart: always\ndepends_on: {db: {condition: service_healthy, restart: true}}",
      { network: "app:db", restart_policy: "always", depends_on: { db: "healthy" } },
    ],
    [
      "network_mode: container:database\nrestart: on-failure\ndepends_on: {db: {restart: true}}",
      { network: "app:db", restart_policy: "on-failure", depends_on: { db: "started" } },
    ],
    ["privileged: true", { privileged: true }],
    ["cap_add: [NET_ADMIN]\ncap_drop: [ALL]", { cap_add: ["NET_ADMIN"], cap_drop: ["ALL"] }],
    [
      "extra_hosts: ['host.docker.internal:host-gateway', 'plc=10.0.0.1', 'six:[::1]']",
      {
        extra_hosts: [
          { name: "host.docker.internal", address: "host-gateway" },
          { name: "plc", address: "10.0.0.1" },
          { name: "six", address: "::1" },
        ],
      },
    ],
    ["extra_hosts: {plc: 10.0.0.1}", { extra_hosts: [{ name: "plc", address: "10.0.0.1" }] }],
    ["user: 1000:1000", { user: "1000:1000" }],
    ["user: 1000", { user: "1000" }],
    ["working_dir: /srv\nread_only: true\ninit: 'true'", { working_dir: "/srv", read_only: true, init: true }],
    ["shm_size: 128mb", { shm_size: 2 ** 27 }],
    [
      "ulimits: {nofile: {soft: 1024, hard: 2048}, nproc: 64}",
      {
        ulimits: [
          { name: "nofile", soft: 1024, hard: 2048 },
          { name: "nproc", soft: 64 },
        ],
      },
    ],
    ["sysctls: [net.core.somaxconn=1024]", { sysctls: { "net.core.somaxconn": "1024" } }],
    ["sysctls: {net.core.somaxconn: 1024}", { sysctls: { "net.core.somaxconn": "1024" } }],
    ["dns: 1.1.1.1", { dns: ["1.1.1.1"] }],
    ["dns: [1.1.1.1, 8.8.8.8]", { dns: ["1.1.1.1", "8.8.8.8"] }],
    [
      "dns_search: plant.local\ndns_opt: [use-vc, ndots:1]",
      { dns_search: ["plant.local"], dns_options: ["use-vc", "ndots:1"] },
    ],
    ["stop_signal: SIGINT\nstop_grace_period: 1m30s", { stop_signal: "SIGINT", stop_grace_s: 90 }],
    [
      "healthcheck: {test: [CMD, check, -q], interval: 1m30s, timeout: 5s, retries: 2, start_period: 1.5s}",
      {
        healthcheck: { command: ["check", "-q"], interval_s: 90, timeout_s: 5, retries: 2, start_period_s: 1.5 },
      },
    ],
    [
      "healthcheck: {test: curl -f http://localhost || exit 1}",
      { healthcheck: { command: ["/bin/sh", "-c", "curl -f http://localhost || exit 1"] } },
    ],
    ["healthcheck: {test: [CMD-SHELL, a && b]}", { healthcheck: { command: ["/bin/sh", "-c", "a && b"] } }],
    ["labels: [a=1, b]", { labels: { a: "1", b: "" } }],
    ["labels: {a: 1, b: }", { labels: { a: "1", b: "" } }],
    [
      "logging: {driver: json-file, options: {max-size: 10m, max-file: '3'}}",
      { log: { max_bytes: 10 * 2 ** 20, max_files: 3 } },
    ],
    ["mem_limit: 512m\ncpus: '0.5'", { memory_limit: 2 ** 29, cpu_limit: 0.5 }],
    [
      "deploy: {replicas: 1, resources: {limits: {cpus: '1.5', memory: 1G}}}",
      { cpu_limit: 1.5, memory_limit: 2 ** 30 },
    ],
    [
      "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}",
      { gpus: "all" },
    ],
    [
      "deploy: {resources: {reservations: {devices: [{device_ids: ['0', '3'], capabilities: [gpu]}]}}}",
      { gpus: { ids: ["0", "3"] } },
    ],
    ["deploy: {restart_policy: {condition: on-failure}}", { restart_policy: "on-failure" }],
    ["deploy: {restart_policy: {condition: any}}\nrestart: 'no'", { restart_policy: "no" }],
    ["gpus: all", { gpus: "all" }],
    ["pull_policy: always", { pull: "always" }],
    ["pull_policy: build\nbuild: .", { pull: "always" }],
    ["pull_policy: if_not_present", { pull: "missing" }],
    ["x-anything: {a: [1]}", {}],
  ])("%s", (lines, expected) => {
    const rest = `  db: {image: "db:1", container_name: database}\n${NAMED}`;
    const { apps, problems } = convertWeb(lines, rest, { env: { A: "from-shell" } });
    expect(problems).toEqual([]);
    expect(apps["web"]).toEqual({ image: "web:1", ...expected });
  });

  test.each<[string, string]>([
    ["version: '3.8'", "version has no effect here"],
    ["name: other", ""],
  ])("of the file: %s", (lines, note) => {
    const { notes, problems } = convert(`${lines}\nservices: {web: {image: w}}`);
    expect(problems).toEqual([]);
    expect(notes.join()).toContain(note);
  });

  test.each<[string, string]>([
    ["expose: ['1883']", "web.expose has no effect here"],
    ["attach: false", "in the background"],
    ["platform: linux/arm64", "its own platform"],
    ["mem_reservation: 1g", "set aside"],
    ["volumes: ['/srv:/srv:cached']", "cached"],
    ["tmpfs: ['/run:noatime']", "has the option noatime, which has no effect here"],
    ["deploy: {restart_policy: {condition: any, delay: 5s}}", "belongs to Swarm"],
    ["network_mode: bridge", "on the project's networks only"],
    ["network_mode: host\nports: ['80:80']", "the app's own ports are the device's"],
    ["healthcheck: {test: x, start_interval: 5s}", "start_interval has no effect"],
    ["ports: [{target: 80, published: 30080, mode: host}]", "mode has no effect"],
    ["deploy: {resources: {reservations: {memory: 1g}}}", "set aside"],
    ["logging: {options: {tag: x}}", "tag has no effect here: the log has the app's lines"],
    ["logging: {driver: json-file, options: {mode: non-blocking}}", "mode has no effect here"],
    ["logging: {driver: none}", "is not so here: the log is kept"],
    ["logging: {driver: journald, options: {tag: x}}", "driver is not used: the log is kept"],
    ["logging: {driver: syslog, options: {syslog-facility: local0}}", "driver is not used: the log is kept"],
    ["runtime: runc", "is the engine's own"],
    ["cgroup: private", "where the kernel has cgroup v2"],
  ])("%s has no effect, and that is said", (lines, note) => {
    const { notes, problems } = convertWeb(lines);
    expect(problems).toEqual([]);
    expect(notes).toEqual([expect.stringContaining(note)]);
    expect(notes[0]).toMatch(/^\d+:\d+: services\.web\./);
  });
});

function bind(local: string, target: string, readonly = false): object {
  return { local, target, readonly };
}

function named(name: string, target: string, readonly = false): object {
  return { name, target, readonly };
}

test("what was put into a secret and has the name of one is a secret by itself", () => {
  const env = { API_TOKEN: "t0ken-value", HOST: "db.example.com", DSN: "whole-value" };
  const lines = [
    "environment:",
    "  CONFIG: token=${API_TOKEN};host=${HOST}",
    "  DSN: $DSN",
    "  PLAIN: ${API_TOKEN:-none}",
    "env_file: web.env",
    "x-edge-secrets: [CONFIG, DSN, FROM_FILE]",
  ].join("\n");
  const { apps, problems } = convertWeb(lines, "", { env, files: { "web.env": 'FROM_FILE="a ${API_TOKEN}"\n' } });
  expect(problems).toEqual([]);
  expect(apps["web"]?.["environments"]).toEqual([
    { key: "FROM_FILE", value: "a t0ken-value", secret: true, secret_parts: ["t0ken-value"] },
    { key: "CONFIG", value: "token=t0ken-value;host=db.example.com", secret: true, secret_parts: ["t0ken-value"] },
    { key: "DSN", value: "whole-value", secret: true },
    { key: "PLAIN", value: "t0ken-value" },
  ]);
});

describe("a volume without a name", () => {
  test.each(["'/data'", "{type: volume, target: /data/}"])("is the service's own: %s", (mount) => {
    const text = `services: {a: {image: 'a:1', volumes: [${mount}]}, b: {image: 'b:1', volumes: [${mount}, '/data2']}}`;
    const { apps, problems, notes } = convert(text);
    expect(problems).toEqual([]);
    const names = ["a", "b"].flatMap((app) =>
      ((apps[app]?.["volumes"] ?? []) as { readonly name: string }[]).map(({ name }) => name),
    );
    expect(names).toEqual([
      expect.stringMatching(/^gw_a-data-[0-9a-f]{8}$/),
      expect.stringMatching(/^gw_b-data-[0-9a-f]{8}$/),
      expect.stringMatching(/^gw_b-data2-[0-9a-f]{8}$/),
    ]);
    expect(notes.join("\n")).toContain(
      `has no name: on the device it is the volume ${names[0]}, which the service keeps`,
    );
  });
});
