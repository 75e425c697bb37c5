import { describe, expect, test } from "vitest";
import { convert, convertWeb } from "../../../support/edgectl/compose.ts";

const NAMED = "volumes:\n  data:\nnetworks:\n  front:\n  back: {name: shared}\n";

describe("what a service cannot have is refused by line", () => {
  test.each<[string, string]>([
    ["extends: {service: x}", "4:5: services.web.extends names the service x, which is not in this file"],
    ["links: [nobody]", "nobody, which is not in this file"],
    ["scale: 2", "once on a device"],
    ["deploy: {replicas: 2}", "services.web.deploy.replicas must be 1"],
    ["mem_limit: 1g\nmemswap_limit: much", "must be a size"],
    ["pids_limit: 5\ndeploy: {resources: {limits: {pids: 6}}}", "contradicts"],
    ["deploy: {restart_policy: {max_attempts: 3}}", "max_attempts"],
    ["mem_limit: 1g\ndeploy: {resources: {limits: {memory: 2g}}}", "contradicts"],
    ["network_mode: service:nobody", "names the service nobody, which is not in this file"],
    ["network_mode: container:other", "other, which no service of this file has as its `container_name`"],
    ["network_mode: service:db\nports: ['80:80']", "Publish them in the service db"],
    ["network_mode: service:db\nnetworks: [front]", "together with"],
    ["network_mode: host\nnetworks: [front]", "together with"],
    ["pid: service:db", "cannot have the processes of another service"],
    ["pid: some", "must be host"],
    ["ipc: container:db", "cannot have the shared memory of another service"],
    ["ipc: none", "must be host, private or shareable"],
    ["userns_mode: other", "must be host"],
    ["security_opt: [seccomp:./profile.json]", "can only be unconfined"],
    ["runtime: nvidia", "gpus"],
    ["runtime: runsc", "runtime is not supported: apps run with the engine's own runtime."],
    ["cgroup: host", "the device's groups of processes"],
    ["restart: on-failure:x", "must be no, always"],
    ["restart: sometimes", "must be no, always"],
    ["imgae: web:1", "did you mean `image`"],
    ["enviroment: {}", "did you mean `environment`"],
    ["toaster: 1", "services.web.toaster is not known."],
    ["env_file: missing.env", "missing.env, which is not a file here"],
    ["x-edge-secrets: [NOPE]", "has no variable NOPE"],
    ["ports: ['localhost:80:80']", "must be one of IP, such as 127.0.0.1"],
    ["ports: ['80:80/sctp']", "tcp or udp"],
    ["ports: ['80-90:80']", "11 host ports for 1"],
    ["ports: ['0:80']", "from 1 to 65535"],
    ["ports: ['70000:80']", "from 1 to 65535"],
    ["ports: ['http']", "HOST:TARGET"],
    ["ports: [{published: 80}]", "needs `target`"],
    ["volumes: [data]", "must be NAME:TARGET"],
    ["volumes: ['/data:ro:rw:x']", "must be NAME:TARGET"],
    ["volumes: [{type: bind, target: /x}]", "needs `source`"],
    ["volumes: ['~/x:/x']", "home directory"],
    ["volumes: ['nodata:/x']", "not under the `volumes` of this file"],
    ["volumes: ['./missing.conf:/x']", "mounts ./missing.conf, which is not here. Put the file there"],
    ["volumes: ['data:/x:shared']", "mode shared"],
    ["volumes: ['C:\\x:/x']", "Windows"],
    ["volumes: [{type: npipe, source: a, target: b}]", "bind, volume or tmpfs"],
    ["volumes: [{type: volume, source: data, target: /x, volume: {subpath: ../y}}]", "leads out of the volume"],
    ["volumes: [{type: volume, source: data, target: /x, volume: {subpath: y/../../z}}]", "leads out of the volume"],
    ["volumes: [{type: volume, source: data, target: /x, volume: {subpath: /y}}]", "leads out of the volume"],
    ["volumes: [{type: bind, source: /x, target: /x, bind: {recursive: readonly}}]", "recursive"],
    ["volumes: [{type: bind, source: /x, target: /x, bind: {sourc: x}}]", "is not known"],
    ["volumes: [{type: bind, source: /x, target: /x, bind: {propagation: shared}}]", "propagation"],
    ["depends_on: [nobody]", "nobody, which is not in this file"],
    ["depends_on: [web]", "itself"],
    ["depends_on: {db: {condition: service_done}}", "must be service_started, service_healthy or"],
    ["depends_on: {db: {condition: service_healthy, restart: true}}", "restart"],
    ["network_mode: service:db\nrestart: 'no'\ndepends_on: {db: {restart: true}}", "leaves the others running"],
    ["network_mode: host\nrestart: always\ndepends_on: {db: {restart: true}}", "leaves the others running"],
    ["networks: [nowhere]", "nowhere, which is not under"],
    [
      "networks: {front: {ipv4_address: 10.0.0.5}}\nenvironment: {DNS: 'udp://10.0.0.5:53'}",
      "front.ipv4_address is mentioned by the service web, and the device chooses addresses",
    ],
    ["tmpfs: ['/run:uid=web']", "has a uid that is no number"],
    ["deploy: {restart_policy: {dealy: 5s}}", "is not known"],
    ["healthcheck: {interval: 5s}", "needs `test`"],
    ["healthcheck: {test: x, interval: 5}", "with its unit"],
    ["healthcheck: {test: [check]}", "CMD-SHELL"],
    ["logging: {driver: fluentd}", "driver is not supported: nothing is sent from here by fluentd"],
    ["logging: {driver: syslog, options: {syslog-address: 'udp://192.0.2.1'}}", "by syslog"],
    ["logging: {options: {max-size: 1m, max-sized: x}}", "did you mean `max-size`"],
    ["logging: {options: {max-file: 2}}", "needs `max-size` too"],
    ["shm_size: much", "must be a size"],
    ["stop_grace_period: 1.5s", "whole seconds"],
    ["pull_policy: daily", "daily"],
    ["pull_policy: build", "build is not supported"],
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
    const { problems } = convertWeb(lines, `  db: {image: "db:1"}\n${NAMED}`);
    expect(problems.join("\n")).toContain(message);
    expect(problems[0]).toMatch(/^\d+:\d+: services\.web/);
  });

  test.each<[string, string]>([
    ["include: [a.yaml]", "include[0] names a.yaml, which is not a file here"],
    ["volumes: {a: {external: {names: b}}}", "did you mean `name`"],
    ["volumes: {a: {driver_opts: {type: nfs}}}", "volumes.a.driver_opts"],
    ["volumes: {a: {driver: nfs}}", "must be local"],
    ["networks: {a: {driver: macvlan}}", "must be bridge. An app has no address of its own in the device's network"],
    ["networks: {a: {driver: overlay}}", "must be bridge. Remove it"],
    ["networks: {a: {external: {name: bridge}}}", "is the network bridge, which engines have by themselves"],
    ["networks: {a: {internal: true, external: true}}", "cannot be said of an external network"],
    ["networks: {a: {driver_opts: {x: y}}}", "networks.a.driver_opts"],
    ["secrets: {a: {external: true}}", "secrets.a.external"],
    ["secrets: {a: {}}", "needs one of"],
    ["servces: {}", "did you mean `services`"],
    ["models: {}", "models is not supported"],
  ])("of the file: %s", (lines, message) => {
    const used = ["networks: [a]", "volumes: ['a:/a']", "secrets: [a]"].filter((key) =>
      lines.startsWith(key.slice(0, 7)),
    );
    const { problems } = convert(`services: {web: {${["image: w", ...used].join(", ")}}}\n${lines}`);
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
    const { problems } = convert("services:\n  a:\n    build: .\n    pid: x\n  b:\n    uts: host\n    image: b");
    expect(problems.map((line) => line.split(" ")[0])).toEqual(["3:5:", "4:5:", "6:5:"]);
  });

  test("a project without a name that can be used is one problem, not one of each app", () => {
    const { problems } = convert("services: {a: {image: 'a:1', volumes: ['d:/d']}}\nvolumes: {d: }", {
      project: "A !",
    });
    expect(problems).toEqual([expect.stringContaining("no name that can be used")]);
  });

  test("values of variables are in no message", () => {
    const text = "environment: {A: planted, B: [planted]}\nlabels: [planted]\nmem_limit: $PLANTED\ncpus: $PLANTED";
    const { problems } = convertWeb(text, "", { env: { PLANTED: "planted" } });
    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toContain("planted");
  });
});
