import { createHash } from "node:crypto";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LABELS } from "../../src/agent/core/app/container.ts";
import { nameApps } from "../../src/edgectl/group/app-names.ts";
import { mapPorts } from "../../src/edgectl/group/map-ports.ts";
import { readGroupFile } from "../../src/edgectl/group-file/read-group.ts";
import { run, succeed } from "../support/command.ts";
import { differences } from "../support/compose/differences.ts";
import type { Inspected } from "../support/compose/inspected.ts";
import { clonePublicStack, imagesOf } from "../support/compose/public-stack.ts";
import { reserveHostPort } from "../support/free-port.ts";
import { crashLoopImage, standInImage, WEB_PORT } from "../support/images.ts";
import { loadImageAs } from "../support/images/load-image.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { Registry } from "../support/registry.ts";
import { listContainers } from "../support/system/engine-containers.ts";
import { sharedSystem } from "../support/system/test-system.ts";

/*
 * The two public stacks of docs/compose.md, as their authors wrote them, by edgectl, service and agent, beside what
 * docker-compose makes of the same files. One stand-in runs for all their images.
 */

const missing = (await privateEngineUnavailableReason()) ?? (await composeUnavailableReason());

async function composeUnavailableReason(): Promise<string | undefined> {
  const outcome = await run("docker-compose", ["--version"]).catch(() => undefined);
  return outcome?.code === 0 ? undefined : "docker-compose is not installed";
}

const system = sharedSystem(async (owned) =>
  missing === undefined ? { engine: owned.use(await PrivateEngine.start({ connectsContainers: true })) } : {},
);

const docker = (...args: string[]): Promise<string> =>
  succeed("docker", ["--host", `unix://${system().engineSocket}`, ...args]);

/** A clone of a stack, with a project whose mapped ports are free. */
class Stack {
  readonly directory: string;
  readonly project: string;
  /** The services and their images, in the order of the file. */
  readonly images: readonly (readonly [service: string, image: string])[];
  #files: readonly string[];

  private constructor(directory: string, project: string, images: Stack["images"], files: readonly string[]) {
    this.directory = directory;
    this.project = project;
    this.images = images;
    this.#files = files;
  }

  /** @param override a further file that is merged with the stack's own */
  static async clone(name: string, override?: (images: Stack["images"]) => object): Promise<Stack> {
    const directory = join(system().directory, name);
    await clonePublicStack(name, directory);
    const images = imagesOf(await readFile(join(directory, "docker-compose.yml"), "utf8"));
    for (let attempt = 0; attempt < 20; attempt++) {
      const stack = new Stack(directory, system().name("s"), images, ["docker-compose.yml"]);
      if (override) await stack.override("images.json", override(images));
      const ports = await stack.mappedPorts();
      const reserved = await Promise.all(ports.map(reserveHostPort));
      if (reserved.every(Boolean)) return stack;
    }
    throw new Error("no project has free ports");
  }

  async override(file: string, content: object): Promise<void> {
    await writeFile(join(this.directory, file), JSON.stringify(content));
    this.#files = [...new Set([...this.#files, file])];
  }

  get files(): string[] {
    return this.#files.flatMap((file) => ["-f", join(this.directory, file)]);
  }

  apply(...flags: string[]): ReturnType<typeof run> {
    const asset = system().asset.serialNumber;
    return edgectl("apply", asset, ...this.files, "--project", this.project, "--map-ports", ...flags);
  }

  /** Ports that the services get on a device without others of their own. */
  async mappedPorts(): Promise<number[]> {
    const [first = "", ...others] = this.#files;
    const read = async (fileName: string) => {
      const path = join(this.directory, fileName);
      return { text: await readFile(path, "utf8"), fileName, path };
    };
    const files = [await read(first), ...(await Promise.all(others.map(read)))] as const;
    const group = readGroupFile(files, { project: this.project, envFiles: [], env: {} });
    if (!group) throw new Error(`${this.directory} has no compose file`);
    return mapPorts(nameApps(group.written), [], group.problems).map(({ hostPort }) => hostPort);
  }

  app(service: string): string {
    return `${this.project}.${service}`;
  }

  /** Runs a command in the app of a service. */
  exec(service: string, ...command: string[]): Promise<string> {
    return docker("exec", this.app(service), "busybox", ...command);
  }

  /** The ids of the running containers by service. */
  async running(): Promise<Record<string, string>> {
    const containers = await listContainers(system().engineSocket);
    const own = containers.filter(({ Labels, State }) => {
      return State === "running" && Labels[LABELS.app]?.startsWith(`${this.project}.`);
    });
    return Object.fromEntries(
      own.map(({ Id, Labels }) => [Labels[LABELS.app]?.slice(this.project.length + 1) ?? "", Id]),
    );
  }

  /** Creates the services with docker-compose, and says where they differ from the apps. */
  async compareWithCompose(): Promise<string[]> {
    const env = { DOCKER_HOST: `unix://${system().engineSocket}`, COMPOSE_PROJECT_NAME: this.project };
    const compose = (...args: string[]): Promise<string> =>
      succeed("docker-compose", [...this.files, ...args], { env });
    await compose("up", "--no-start");
    try {
      const ids = await this.running();
      const found: string[] = [];
      for (const [service] of this.images) {
        const [composed, own] = await inspect((await compose("ps", "-q", service)).trim(), ids[service] ?? "");
        const told = [...differences(composed, own, this.directory), ...unknownNames(composed, own)];
        found.push(...told.map((text) => `${service}: ${text}`));
      }
      return found;
    } finally {
      await compose("down", "--volumes");
    }
  }
}

function edgectl(...args: readonly string[]): ReturnType<typeof run> {
  const { control, account, directory } = system();
  const env = {
    EDGECTL_URL: control.url,
    EDGECTL_API_KEY: account.apiKey,
    XDG_CONFIG_HOME: join(directory, "operator"),
  };
  return run("dist/edgectl", args, { env });
}

type Networked = Inspected & {
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, { readonly Aliases?: readonly string[] }>> };
};

async function inspect(...ids: readonly [string, string]): Promise<[Networked, Networked]> {
  return JSON.parse(await docker("inspect", ...ids)) as [Networked, Networked];
}

/** Says under which names of compose others do not reach the app. */
function unknownNames(composed: Networked, own: Networked): string[] {
  const namesOf = ({ Id, NetworkSettings }: Networked): string[] => {
    const aliases = Object.values(NetworkSettings.Networks).flatMap(({ Aliases }) => Aliases ?? []);
    return aliases.filter((name) => !Id.startsWith(name));
  };
  const known = new Set(namesOf(own));
  return namesOf(composed).flatMap((name) => (known.has(name) ? [] : [`is not reached as ${name}`]));
}

/** Hashes of the files below a directory of this machine, as md5sum prints them, by path. */
async function hashesOf(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const hashed = files.map(async (file) => {
    return [
      file.slice(directory.length),
      createHash("md5")
        .update(await readFile(file))
        .digest("hex"),
    ] as const;
  });
  return Object.fromEntries(await Promise.all(hashed));
}

/** The same of a directory in an app. */
async function hashesIn(stack: Stack, service: string, directory: string): Promise<Record<string, string>> {
  const printed = await stack.exec(service, "find", directory, "-type", "f", "-exec", "busybox", "md5sum", "{}", "+");
  const lines = printed.trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(34 + directory.length), line.slice(0, 32)] as const));
}

/** Which services have another container than before. */
function replaced(before: Record<string, string>, after: Record<string, string>): string[] {
  expect(Object.keys(after).toSorted()).toEqual(Object.keys(before).toSorted());
  return Object.keys(after).filter((service) => after[service] !== before[service]);
}

test.skipIf(missing !== undefined)(
  "a LoRaWAN network server: as with docker-compose, changed in one file, brought back, removed",
  { timeout: 600_000 },
  async () => {
    await using registry = await Registry.start();
    const image = await standInImage();
    const stack = await Stack.clone("chirpstack-docker", (images) => ({
      services: Object.fromEntries(images.map(([service, name]) => [service, { image: `${registry.host}/${name}` }])),
    }));
    for (const name of new Set(stack.images.map(([, name]) => name))) await registry.push(image, name);
    const services = stack.images.map(([service]) => service);
    expect(services).toHaveLength(7);

    const checked = await edgectl("compose", "check", ...stack.files, "--map-ports");
    expect(checked).toMatchObject({ code: 0 });
    const applied = await stack.apply("--yes");
    expect(applied).toMatchObject({ code: 0 });
    for (const service of services) expect(applied.stdout).toContain(`App ${stack.app(service)} is running.`);
    expect(await stack.compareWithCompose()).toEqual([]);
    const configuration = join(stack.directory, "configuration");
    for (const service of ["chirpstack", "chirpstack-gateway-bridge"]) {
      const expected = await hashesOf(join(configuration, service));
      expect(Object.keys(expected).length).toBeGreaterThan(30);
      expect(await hashesIn(stack, service, `/etc/${service}`)).toEqual(expected);
    }
    await stack.exec("postgres", "test", "-x", "/docker-entrypoint-initdb.d/001-chirpstack_extensions.sh");
    expect(await stack.exec("chirpstack-rest-api", "wget", "-q", "-O", "-", `http://postgres:${WEB_PORT}/`)).toBe(
      "version 1\n",
    );
    const first = await stack.running();
    expect((await stack.apply("--yes")).stdout).toContain("Nothing to change.");

    await appendFile(join(configuration, "mosquitto/config/mosquitto.conf"), "# changed\n");
    expect(await stack.apply("--yes")).toMatchObject({ code: 0 });
    const second = await stack.running();
    expect(replaced(first, second)).toEqual(["mosquitto"]);
    const changed = await hashesOf(join(configuration, "mosquitto/config"));
    expect(await hashesIn(stack, "mosquitto", "/mosquitto/config")).toEqual(changed);

    await appendFile(join(configuration, "mosquitto/config/mosquitto.conf"), "# broken\n");
    const crasher = await registry.push(await crashLoopImage(3), "broken:1");
    await stack.override("broken.json", { services: { "chirpstack-rest-api": { image: crasher } } });
    const failed = await stack.apply("--yes");
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("As before again: ") as string });
    const touched = new Set(["chirpstack-rest-api", "mosquitto"]);
    expect(replaced(second, await stack.running()).filter((service) => !touched.has(service))).toEqual([]);
    expect(await hashesIn(stack, "mosquitto", "/mosquitto/config")).toEqual(changed);

    const asset = system().asset.serialNumber;
    for (const service of services.toReversed()) {
      expect(await edgectl("apps", "remove", asset, `${stack.project}/${service}`)).toMatchObject({ code: 0 });
    }
    expect(await stack.running()).toEqual({});
    expect(await readdir(join(system().agent.stateDir, "files"))).toEqual([]);
    for (const volume of ["postgresqldata", "redisdata"].map((name) => `${stack.project}_${name}`)) {
      expect(await edgectl("volumes", "remove", asset, volume, "--yes")).toMatchObject({ code: 0 });
    }
    expect((await edgectl("volumes", "list", asset)).stdout).not.toContain(stack.project);
  },
);

test.skipIf(missing !== undefined)(
  "monitoring of the device: refused by the policy, then as with docker-compose, and one service is updated",
  { timeout: 600_000 },
  async () => {
    const stack = await Stack.clone("dockprom");
    for (const [, name] of stack.images) await loadImageAs(system().engineSocket, await standInImage(), name);
    const refused = await stack.apply("--dry-run");
    expect(refused.code).toBe(1);
    for (const service of ["nodeexporter", "cadvisor"]) expect(refused.stderr).toContain(stack.app(service));

    await system().agent.restart({ policy: { mounts: { allow_containing_protected: true } } });
    await system().untilOnline();
    expect(await stack.apply("--yes")).toMatchObject({ code: 0 });
    expect(await stack.compareWithCompose()).toEqual([]);
    expect(await stack.exec("caddy", "wget", "-q", "-O", "-", `http://grafana:${WEB_PORT}/`)).toBe("version 1\n");
    const before = await stack.running();
    expect(Object.keys(before)).toHaveLength(7);

    const [, grafana = ""] = stack.images.find(([service]) => service === "grafana") ?? [];
    await loadImageAs(system().engineSocket, await standInImage("2"), `${grafana}-next`);
    await stack.override("next.json", { services: { grafana: { image: `${grafana}-next` } } });
    expect(await stack.apply("--yes")).toMatchObject({ code: 0 });
    expect(replaced(before, await stack.running())).toEqual(["grafana"]);
    expect(await stack.exec("caddy", "wget", "-q", "-O", "-", `http://grafana:${WEB_PORT}/`)).toBe("version 2\n");

    // Beside it, with services of the same names.
    const exporters = [
      "-f",
      join(stack.directory, "docker-compose.exporters.yml"),
      "--project",
      system().name("exporters"),
    ];
    const beside = await edgectl("apply", system().asset.serialNumber, ...exporters, "--dry-run");
    expect(beside).toMatchObject({ code: 0 });
  },
);
