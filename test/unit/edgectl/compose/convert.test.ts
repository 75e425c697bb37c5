import { describe, expect, test } from "vitest";
import { convert } from "../../../support/edgectl/compose.ts";

/** Converts one service `web` with these lines, and what it needs. */
function web(lines: string, rest = "", surroundings: Parameters<typeof convert>[1] = {}) {
  const indented = lines
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
  return convert(`services:\n  web:\n    image: web:1\n${indented}\n${rest}`, surroundings);
}

const NAMED = "volumes:\n  data:\nnetworks:\n  front:\n  back: {name: shared}\n";

describe("what a service's keys become", () => {
  test.each<[string, object]>([
    ["command: serve --all 'two words'", { command: ["serve", "--all", "two words"] }],
    ["command: [serve, 8080, true]", { command: ["serve", "8080", "true"] }],
    ["command:", {}],
    ["entrypoint: /init.sh\ncommand: [a]", { entrypoint: ["/init.sh"], command: ["a"] }],
    ["container_name: web", {}],
    ["hostname: gateway", { hostname: "gateway" }],
    ["restart: always", { restart_policy: "always" }],
    ["restart: no", { restart_policy: "no" }],
    ["restart: false", { restart_policy: "no" }],
    [
      "environment:\n  A: 1.10\n  B: true\n  C: ''\n  D: x=y",
      { environments: env({ A: "1.10", B: "true", C: "", D: "x=y" }) },
    ],
    ["environment:\n  - A=1\n  - B=\n  - C=x=y", { environments: env({ A: "1", B: "", C: "x=y" }) }],
    ["environment: [A]", { environments: env({ A: "from-shell" }) }],
    ["environment: {A: }", { environments: env({ A: "from-shell" }) }],
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
    ["depends_on: {db: {condition: service_healthy}}", { depends_on: { db: "healthy" } }],
    [
      "depends_on: {db: {condition: service_started, required: true, restart: false}}",
      { depends_on: { db: "started" } },
    ],
    ["networks: [front, back]", { networks: ["gw_front", "shared"] }],
    ["networks: {front: {aliases: [web]}, back: }", { networks: ["gw_front", "shared"] }],
    ["networks: [default]", {}],
    ["network_mode: host", { host_network: true }],
    ["network_mode: none", { network: "none" }],
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
    ["pull_policy: if_not_present", { pull: "missing" }],
    ["x-anything: {a: [1]}", {}],
  ])("%s", (lines, expected) => {
    const rest = `  db: {image: "db:1"}\n${NAMED}`;
    const { apps, problems } = web(lines, rest, { env: { A: "from-shell" } });
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
    ["tty: true", "terminal"],
    ["stdin_open: true", "input"],
    ["platform: linux/arm64", "its own platform"],
    ["mem_reservation: 1g", "set aside"],
    ["volumes: ['/srv:/srv:cached']", "cached"],
    ["network_mode: bridge", "by name"],
    ["network_mode: host\nports: ['80:80']", "the app's own ports are the device's"],
    ["healthcheck: {test: x, start_interval: 5s}", "start_interval has no effect"],
    ["ports: [{target: 80, published: 30080, mode: host}]", "mode has no effect"],
    ["deploy: {resources: {reservations: {memory: 1g}}}", "set aside"],
  ])("%s has no effect, and that is said", (lines, note) => {
    const { notes, problems } = web(lines);
    expect(problems).toEqual([]);
    expect(notes).toEqual([expect.stringContaining(note)]);
    expect(notes[0]).toMatch(/^\d+:\d+: services\.web\./);
  });
});

describe("what a service cannot have is refused by line", () => {
  test.each<[string, string]>([
    ["build: .", "4:5: services.web.build is not supported: devices pull their images. Push the image"],
    ["build: {context: ., dockerfile: D}", "docker push"],
    ["profiles: [debug]", "4:5: services.web.profiles is not supported. Keep one file"],
    ["extends: {service: x}", "anchor"],
    ["links: [db]", "by name"],
    ["scale: 2", "once on a device"],
    ["deploy: {replicas: 2}", "services.web.deploy.replicas must be 1"],
    ["deploy: {placement: {}}", "Swarm"],
    ["deploy: {resources: {limits: {pids: 5}}}", "ulimits"],
    ["deploy: {restart_policy: {max_attempts: 3}}", "max_attempts"],
    ["mem_limit: 1g\ndeploy: {resources: {limits: {memory: 2g}}}", "contradicts"],
    ["network_mode: service:db", "by name"],
    ["network_mode: host\nnetworks: [front]", "together with"],
    ["pid: host", "pid is not supported"],
    ["ipc: host", "shm_size"],
    ["userns_mode: host", "privileged"],
    ["security_opt: [apparmor:unconfined]", "privileged"],
    ["runtime: nvidia", "gpus"],
    ["container_name: my-web", "4:5: services.web.container_name differs from the service"],
    ["restart: on-failure:3", "on-failure"],
    ["restart: sometimes", "must be no, always"],
    ["imgae: web:1", "did you mean `image`"],
    ["enviroment: {}", "did you mean `environment`"],
    ["toaster: 1", "services.web.toaster is not known."],
    ["environment: [UNSET]", "(UNSET) has no value"],
    ["environment: {UNSET: }", "services.web.environment.UNSET has no value"],
    ["env_file: missing.env", "missing.env, which is not a file here"],
    ["x-edge-secrets: [NOPE]", "has no variable NOPE"],
    ["ports: ['127.0.0.1:80:80']", "services.web.ports[0] binds to the address 127.0.0.1"],
    ["ports: ['80:80/sctp']", "tcp or udp"],
    ["ports: ['80-90:80']", "11 host ports for 1"],
    ["ports: ['0:80']", "from 1 to 65535"],
    ["ports: ['70000:80']", "from 1 to 65535"],
    ["ports: ['http']", "HOST:TARGET"],
    ["ports: [{published: 80}]", "needs `target`"],
    ["volumes: [/data]", "Name it: data:/data"],
    ["volumes: ['~/x:/x']", "home directory"],
    ["volumes: ['nodata:/x']", "not under the `volumes` of this file"],
    [
      "volumes: ['./missing:/x']",
      "mounts ./missing, which is not here. For a directory that the app writes to, use a named volume",
    ],
    ["volumes: ['data:/x:nocopy']", "mode nocopy"],
    ["volumes: ['data:/x:Z']", "relabelled"],
    ["volumes: ['C:\\x:/x']", "Windows"],
    ["volumes: [{type: npipe, source: a, target: b}]", "bind, volume or tmpfs"],
    ["volumes: [{type: volume, source: data, target: /x, volume: {subpath: y}}]", "subpath"],
    ["volumes: [{type: bind, source: /x, target: /x, bind: {propagation: shared}}]", "propagation"],
    ["depends_on: [nobody]", "nobody, which is not in this file"],
    ["depends_on: [web]", "itself"],
    ["depends_on: {db: {condition: service_completed_successfully}}", "entrypoint"],
    ["depends_on: {db: {condition: service_healthy, required: false}}", "required"],
    ["depends_on: {db: {condition: service_healthy, restart: true}}", "restart"],
    ["networks: [nowhere]", "nowhere, which is not under"],
    ["networks: {front: {aliases: [www]}}", "(www) are not supported"],
    ["networks: {front: {ipv4_address: 10.0.0.5}}", "ipv4_address is not supported"],
    ["healthcheck: {disable: true}", "cannot turn off"],
    ["healthcheck: {test: [NONE]}", "cannot turn off"],
    ["healthcheck: {interval: 5s}", "needs `test`"],
    ["healthcheck: {test: x, interval: 5}", "with its unit"],
    ["healthcheck: {test: [check]}", "CMD-SHELL"],
    ["logging: {driver: syslog}", "json-file"],
    ["logging: {options: {max-size: 1m, tag: x}}", "tag"],
    ["shm_size: much", "must be a size"],
    ["stop_grace_period: 1.5s", "whole seconds"],
    ["pull_policy: daily", "daily"],
    ["gpus: 2", "must be all"],
    ["deploy: {resources: {reservations: {devices: [{count: 1, capabilities: [gpu]}]}}}", "device_ids"],
    ["privileged: perhaps", "true or false"],
    ["privileged: [true]", "true or false"],
    ["cpus: many", "a number"],
    ['command: "serve \'x"', "quote"],
    ["command: []", "cannot be empty"],
    ["devices: ['vendor.com/device=gpu']", "gpus"],
    ["configs: [nothing]", "nothing, which is not under"],
    ["secrets: [{target: x}]", "needs `source`"],
    ["environment: text", "must be a map"],
    ["ports: 80", "must be a list"],
  ])("%s", (lines, message) => {
    const { problems } = web(lines, `  db: {image: "db:1"}\n${NAMED}`);
    expect(problems.join("\n")).toContain(message);
    expect(problems[0]).toMatch(/^\d+:\d+: services\.web/);
  });

  test.each<[string, string]>([
    ["include: [a.yaml]", "include is not supported"],
    ["volumes: {a: {external: true}}", "volumes.a.external is not supported"],
    ["volumes: {a: {driver_opts: {type: nfs}}}", "volumes.a.driver_opts"],
    ["volumes: {a: {driver: nfs}}", "must be local"],
    ["networks: {a: {driver: macvlan}}", "must be bridge"],
    ["networks: {a: {external: true}}", "networks.a.external"],
    ["networks: {a: {internal: true}}", "networks.a.internal"],
    ["networks: {a: {ipam: {}}}", "networks.a.ipam"],
    ["secrets: {a: {external: true}}", "secrets.a.external"],
    ["secrets: {a: {}}", "needs one of"],
    ["servces: {}", "did you mean `services`"],
    ["models: {}", "models is not supported"],
  ])("of the file: %s", (lines, message) => {
    const { problems } = convert(`services: {web: {image: w}}\n${lines}`);
    expect(problems).toEqual([expect.stringContaining(message)]);
    expect(problems[0]).toMatch(/^2:/);
  });

  test("a service without an image", () => {
    expect(convert("services:\n  web:\n    restart: always").problems).toEqual(["2:3: services.web needs `image`."]);
  });

  test("no services, and services that are none", () => {
    expect(convert("services: {}").problems).toEqual([expect.stringContaining("no services")]);
    expect(convert("services: [a]").problems.join()).toContain("must be a map");
    expect(convert("services: {web: text}").problems.join()).toContain("services.web must be a map");
  });

  test("all problems at once, in the order of the file", () => {
    const { problems } = convert(
      "services:\n  a:\n    build: .\n    links: [b]\n  b:\n    profiles: [x]\n    image: b",
    );
    expect(problems.map((line) => line.split(" ")[0])).toEqual(["3:5:", "4:5:", "6:5:"]);
  });

  test("values of variables are in no message", () => {
    const text = "environment: {A: planted, B: [planted]}\nlabels: [planted]\nmem_limit: $PLANTED\ncpus: $PLANTED";
    const { problems } = web(text, "", { env: { PLANTED: "planted" } });
    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toContain("planted");
  });
});

describe("files beside the compose file", () => {
  const FILES = {
    "a.conf": "port 1\n",
    "conf/b.conf": "b",
    "conf/sub/c.bin": Buffer.from([0, 1, 255]),
    "run.sh": "#!/bin/sh",
  };

  test("a relative file comes with the app, a program stays one", () => {
    const { apps, notes } = web("volumes: ['./a.conf:/etc/a.conf:ro', ./run.sh:/run.sh]", "", {
      files: FILES,
      modes: { "run.sh": 0o755 },
    });
    expect(apps["web"]?.["files"]).toEqual([
      { target: "/etc/a.conf", content: "port 1\n" },
      { target: "/run.sh", content: "#!/bin/sh", mode: "0555" },
    ]);
    expect(notes).toEqual([expect.stringContaining("mounts ./run.sh. The file comes with the app")]);
  });

  test("a relative directory comes as its files", () => {
    const { apps } = web("volumes: [{type: bind, source: conf, target: /etc/app/, read_only: true}]", "", {
      files: FILES,
    });
    expect(apps["web"]?.["files"]).toEqual([
      { target: "/etc/app/b.conf", content: "b" },
      { target: "/etc/app/sub/c.bin", content_base64: "AAH/" },
    ]);
  });

  test("up to 64 files and 256 KiB", () => {
    const many = (count: number, size = 1): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`d/${index}`, "x".repeat(size)]));
    const directory = "volumes: ['./d:/d:ro']";
    expect(web(directory, "", { files: many(64, 4096) }).problems).toEqual([]);
    expect(web(directory, "", { files: many(65) }).problems.join()).toContain("more than 64");
    expect(web(directory, "", { files: many(2, 131_073) }).problems.join()).toContain("2 files, 257 KiB");
    expect(web("volumes: ['./f:/f:ro']", "", { files: { f: "x".repeat(262_145) } }).problems.join()).toContain(
      "257 KiB",
    );
  });

  test("configurations and secrets are files", () => {
    const rest = [
      "configs:",
      "  a: {file: ./a.conf}",
      "  text: {content: 'level = ${LEVEL}'}",
      "secrets:",
      "  password: {environment: PASSWORD}",
      "  key: {file: ./a.conf}",
    ].join("\n");
    const lines = [
      "configs: [a, {source: text, target: /etc/text, mode: 0440, uid: '1000', gid: 1000}]",
      "secrets: [password, {source: key, target: tls.key}]",
    ].join("\n");
    const { apps, problems } = web(lines, rest, { files: FILES, env: { LEVEL: "info", PASSWORD: "p" } });
    expect(problems).toEqual([]);
    expect(apps["web"]?.["files"]).toEqual([
      { target: "/a", content: "port 1\n" },
      { target: "/etc/text", content: "level = info", mode: "0440", owner: "1000:1000" },
      { target: "/run/secrets/password", content: "p", secret: true },
      { target: "/run/secrets/tls.key", content: "port 1\n", secret: true },
    ]);
  });

  test("a mode without a leading zero would be decimal", () => {
    const { problems } = web("configs: [{source: a, mode: 440}]", "configs: {a: {content: x}}");
    expect(problems).toEqual([expect.stringContaining("in octal")]);
  });

  test("env_file: later files and `environment` take precedence", () => {
    const files = { "a.env": "A=1\nB=1\nC=1\n", "b.env": "B=2\nC=2" };
    const { apps } = web(
      "env_file: [a.env, {path: b.env}, {path: none.env, required: false}]\nenvironment: [C=3]",
      "",
      { files },
    );
    expect(apps["web"]?.["environments"]).toEqual(env({ A: "1", B: "2", C: "3" }));
  });

  test("a problem in an env_file names that file and its line", () => {
    const { problems } = web("env_file: a.env", "", { files: { "a.env": "A=1\n=planted\nUNSET\n" } });
    expect(problems).toEqual([
      "a.env:2:1: This line is not NAME=value.",
      "a.env:3:1: UNSET has no value, and this shell and .env do not have one either. Write KEY=VALUE, or set it.",
    ]);
  });
});

describe("networks", () => {
  test("the default network gets a name once a service is in it and in others", () => {
    const { apps } = convert(
      "services: {a: {image: a, networks: [default, x]}, b: {image: b}, c: {image: c, network_mode: host}}\nnetworks: {x: }",
    );
    expect(apps).toEqual({
      a: { image: "a", networks: ["gw_default", "gw_x"] },
      b: { image: "b", networks: ["gw_default"] },
      c: { image: "c", host_network: true },
    });
  });

  test("so it does when the file names it", () => {
    const { apps } = convert("services: {a: {image: a}}\nnetworks: {default: {name: plant}}");
    expect(apps).toEqual({ a: { image: "a", networks: ["plant"] } });
  });
});

describe("variables", () => {
  test("are expanded in values and never in keys", () => {
    const { apps } = web("environment:\n  $KEY: $VALUE\n  COST: $$5", "", { env: { VALUE: "v", KEY: "k" } });
    expect(apps["web"]?.["environments"]).toEqual(env({ $KEY: "v", COST: "$5" }));
  });

  test("that are not set are refused by line", () => {
    expect(web("hostname: ${HOST}\nuser: ${USER_ID:?the id of the user}").problems).toEqual([
      expect.stringMatching(/^4:15: services.web.hostname uses the variable HOST, which is not set./),
      expect.stringMatching(/^5:11: services.web.user needs the variable USER_ID: the id of the user./),
    ]);
  });

  test("an extension of the file is left alone", () => {
    expect(convert("x-a: ${UNSET}\nservices: {web: {image: w}}").problems).toEqual([]);
  });
});

function env(values: Readonly<Record<string, string>>): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value }));
}

function bind(local: string, target: string, readonly = false): object {
  return { local, target, readonly };
}

function named(name: string, target: string, readonly = false): object {
  return { name, target, readonly };
}
