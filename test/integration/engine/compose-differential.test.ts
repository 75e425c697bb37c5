import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { enginePrefix } from "../../../src/agent/engine/engine-prefix.ts";
import type { ContainerStepContext } from "../../../src/agent/steps/context.ts";
import { toRequest } from "../../../src/agent/steps/create.ts";
import { mapPorts } from "../../../src/edgectl/group/map-ports.ts";
import { readGroupFile } from "../../../src/edgectl/group-file/read-group.ts";
import { buildGroupRequest } from "../../../src/edgectl/group/request.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { networkOwner } from "../../../src/protocol/apps/app-network.ts";
import { type AppSpec, parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { run, succeed } from "../../support/command.ts";
import { comparable, type Inspected } from "../../support/compose/inspected.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { engineRequest, loadImage, type LoadedImage, uniqueName, webImage } from "../../support/images.ts";

/*
 * What docker-compose makes of a service, and what the agent makes of the app that edgectl makes of it: the engine's own
 * description of both containers, field by field.
 */

/** Services by what they are about. Only the one is started whose network another one has. */
const SERVICES: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  restart: ["restart: unless-stopped"],
  retries: ["restart: on-failure:3"],
  command: ["command: serve --all 'two words' $$HOME", "entrypoint: [/bin/sh, -c]"],
  environment: [
    "environment:",
    "  A: '1.10'",
    "  EMPTY: ''",
    "  FROM_SHELL:",
    "  UNSET_HERE:",
    "  PATTERN: '^.{8,}$$'",
  ],
  user: ["user: '1000:1001'", "working_dir: /srv", "hostname: my_host", "group_add: ['20', audio]"],
  limits: [
    "pids_limit: 77",
    "mem_limit: 64m",
    "cpus: .5",
    "shm_size: 32m",
    "ulimits: {nofile: {soft: 512, hard: 1024}, core: 0}",
  ],
  rights: ["cap_add: [NET_ADMIN]", "cap_drop: [CHOWN]", "read_only: true", "security_opt: ['no-new-privileges']"],
  namespaces: ["pid: host", "ipc: host"],
  swap: ["mem_limit: 64m", "memswap_limit: 96m"],
  profiles_of_engine: ["security_opt: ['seccomp=unconfined']"],
  memory: ["tmpfs: ['/run:size=65536,mode=0755', '/programs:exec', '/owned:uid=1000,gid=5']"],
  names: [
    "extra_hosts: ['plc.local:192.0.2.10']",
    "dns: [192.0.2.53]",
    "dns_search: [b.local, a.local]",
    "dns_opt: [ndots:2, use-vc]",
  ],
  terminal: ["tty: true", "stdin_open: true"],
  stopping: ["stop_signal: SIGINT", "stop_grace_period: 90s", "init: true"],
  health: ["healthcheck: {test: [CMD, /bin/true], interval: 10s, timeout: 5s, retries: 2, start_period: 1m}"],
  no_health: ["healthcheck: {disable: true}"],
  shell_health: ["healthcheck: {test: exit 0, interval: 10s, timeout: 5s, retries: 2, start_period: 1m}"],
  ports: ["ports: ['127.0.0.1:31801:80', '31802:81/udp', '31803-31804:82-83']"],
  labels: ["labels: {com.example.a: '1', com.example.empty: ''}"],
  sysctls: ["sysctls: {net.core.somaxconn: 777}"],
  devices: ["devices: ['/dev/null:/dev/mine:rw']", "device_cgroup_rules: ['c 188:* rw']"],
  binds: ["volumes: ['/usr/share:/shared:ro']"],
  external: ["volumes: ['outer:/outer:ro']"],
  unnamed: ["volumes: ['/unnamed']"],
  log_elsewhere: ["logging: {driver: none}", "runtime: runc"],
  host: ["network_mode: host"],
  none: ["network_mode: none"],
  follower: ["network_mode: service:nothing"],
};

const BATCH = 9;

async function unavailableReason(): Promise<string | undefined> {
  const compose = await run("docker-compose", ["--version"]).catch(() => undefined);
  if (compose?.code !== 0) return "docker-compose is not installed";
  return (await dockerSocket()) === undefined ? "no Docker responds" : undefined;
}

const missing = await unavailableReason();

describe.skipIf(missing !== undefined)("a service of docker-compose and the agent's app", () => {
  const project = uniqueName("differential");
  const outer = `${project}-outer`;
  const env = { FROM_SHELL: "from-shell" };
  const created: string[] = [];
  let socket: string;
  let image: LoadedImage;
  let file: string;
  let apps: ReadonlyMap<string, AppSpec>;

  const inspect = async (id: string): Promise<Inspected> =>
    JSON.parse((await engineRequest(socket, "GET", `/containers/${id}/json`)).body) as Inspected;
  const compose = (...args: readonly string[]): Promise<string> =>
    succeed("docker-compose", ["-p", project, "-f", file, ...args], {
      env: { ...env, DOCKER_HOST: `unix://${socket}` },
      timeoutMs: 240_000,
    });

  beforeAll(async () => {
    socket = (await dockerSocket()) ?? "";
    image = await loadImage(socket, await webImage(), "web");
    file = join(await mkdtemp(join(tmpdir(), "differential-")), "compose.yaml");
    const services = Object.entries(SERVICES).map(([name, lines]) => {
      return [`  ${name}:`, `    image: ${image.reference}`, ...lines.map((line) => `    ${line}`)].join("\n");
    });
    const text = `services:\n${services.join("\n")}\nvolumes: {outer: {external: true, name: ${outer}}}\n`;
    await engineRequest(socket, "POST", "/volumes/create", {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ Name: outer }),
    });
    await writeFile(file, text);
    const group = readGroupFile([{ text, fileName: file, path: file }], { project, envFiles: [], env });
    if (!group) throw new Error("is no compose file");
    group.problems.throwIfAny();
    const flags = { prune: false, adopt: false, keep: false };
    const ports = mapPorts(group.written, [], group.problems);
    const request = buildGroupRequest(group.written, ports, flags, {}) as {
      readonly apps: readonly { readonly app: object }[];
    };
    apps = new Map(request.apps.map(({ app }) => appOf(app)));
    // Its client keeps 25 connections, one for each URL, and closes the oldest, also in use: with all services at once it fails.
    const names = Object.keys(SERVICES);
    for (let at = 0; at < names.length; at += BATCH) await compose("up", "--no-start", ...names.slice(at, at + BATCH));
    // Docker-compose gives no network of a service that does not run.
    await compose("up", "-d", "nothing");
    await compose("up", "--no-start", "--no-deps", "--force-recreate", "follower");
  });

  afterAll(async () => {
    for (const id of created) await engineRequest(socket, "DELETE", `/containers/${id}?force=1`);
    await compose("down", "-v");
    const { body } = await engineRequest(socket, "GET", "/volumes");
    const { Volumes } = JSON.parse(body) as { readonly Volumes?: readonly { readonly Name: string }[] };
    const own = (Volumes ?? []).filter(({ Name }) => Name.startsWith(enginePrefix(`/var/lib/${project}`)));
    for (const { Name } of own) await engineRequest(socket, "DELETE", `/volumes/${Name}`);
    await engineRequest(socket, "DELETE", `/volumes/${outer}`);
    await image[Symbol.asyncDispose]();
    await rm(dirname(file), { recursive: true });
  });

  test.each(Object.keys(SERVICES))("are the same: %s", async (service) => {
    const spec = apps.get(service);
    if (!spec) throw new Error(`there is no app ${service}`);
    const engine = createDockerEngine({ socketPath: () => socket, clock: systemClock });
    const config = { stateDir: `/var/lib/${project}`, containerLog: { maxBytes: 100_000, maxFiles: 2 } };
    const step = {
      spec,
      image: image.reference,
      deploymentId: "d1",
      place: "app",
      previousImageId: undefined,
    } as const;
    const request = toRequest({ config } as ContainerStepContext, { ...step, kind: "create", refetch: false }, []);
    const owner = networkOwner(spec);
    const ownerId = owner === undefined ? "" : (await inspect(`${project}_${owner}_1`)).Id;
    const shared = owner === undefined ? {} : { network: { container: ownerId } };
    const network = spec.network === "none" ? { network: "none" as const } : shared;
    const name = `${project}-${service}-agent`;
    const id = await engine.createContainer({ ...request, ...network, name }, new AbortController().signal);
    created.push(id);
    expect(comparable(await inspect(id))).toEqual(comparable(await inspect(`${project}_${service}_1`)));
  });
});

function appOf(app: object): [string, AppSpec] {
  const parsed = parseAppSpec(app);
  if (!parsed.ok) throw parsed.error;
  return [parsed.spec.name, parsed.spec];
}

// Shows the reason if the suite is skipped.
if (missing !== undefined) test("a service of docker-compose and the agent's app", ({ skip }) => skip(missing));
