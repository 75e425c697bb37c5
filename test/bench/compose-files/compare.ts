import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { basename, dirname, join } from "node:path";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { enginePrefix } from "../../../src/agent/engine/engine-prefix.ts";
import type { ContainerStepContext } from "../../../src/agent/steps/context.ts";
import { toRequest } from "../../../src/agent/steps/create.ts";
import { mapPorts } from "../../../src/edgectl/group/map-ports.ts";
import { buildGroupRequest } from "../../../src/edgectl/group/request.ts";
import { readGroupFile } from "../../../src/edgectl/group-file/read-group.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { parseNewAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { differences } from "../../support/compose/differences.ts";
import type { Inspected } from "../../support/compose/inspected.ts";
import { run, succeed } from "../../support/command.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { engineRequest, loadImage, uniqueName, webImage } from "../../support/images.ts";
import { extract, fetchRepository, readList } from "./public-files.ts";

/*
 * Compares what docker-compose and the agent make of public stacks: each service of a compose file of the lists beside, with
 * one stand-in for all images, is created by both, started by neither, and described by the engine. Prints what
 * differs. It needs docker-compose and a Docker engine.
 *
 *   node_modules/.bin/node test/bench/compose-files/compare.ts [--repositories DIRECTORY] REPOSITORY[:PATH]…
 */

const { values, positionals } = parseArgs({
  options: { repositories: { type: "string" } },
  allowPositionals: true,
});

const unaborted = new AbortController().signal;

async function compareStack(
  path: string,
  image: string,
  socket: string,
): Promise<{ services: number; found: string[] }> {
  const project = uniqueName("stack");
  const text = await readFile(path, "utf8");
  const group = readGroupFile([{ text, fileName: basename(path), path }], {
    project,
    envFiles: [],
    env: {},
    sharedVolumes: true,
  });
  if (!group) throw new Error(`${path} is no compose file`);
  const flags = { prune: false, adopt: false, keep: false };
  const ports = mapPorts(group.written, [], group.problems);
  const { apps } = buildGroupRequest(group.written, ports, flags, {}) as { apps: readonly { app: { name: string } }[] };
  group.problems.throwIfAny();
  const override = join(dirname(path), "stand-ins.json");
  const services = group.written.apps.map(({ name }) => [name, { image }]);
  // Docker-compose merges files of one version only.
  const [, version] = /^version:\s*["']?([\d.]+)/m.exec(text) ?? [];
  await writeFile(
    override,
    JSON.stringify({ ...(version !== undefined && { version }), services: Object.fromEntries(services) }),
  );
  const compose = (...args: readonly string[]): Promise<string> =>
    succeed("docker-compose", ["-p", project, "-f", path, "-f", override, ...args], {
      env: { DOCKER_HOST: `unix://${socket}` },
      timeoutMs: 300_000,
    });
  const engine = createDockerEngine({ socketPath: () => socket, clock: systemClock });
  const stateDir = `/var/lib/${project}`;
  const inspect = async (id: string): Promise<Inspected> =>
    JSON.parse((await engineRequest(socket, "GET", `/containers/${id}/json`)).body) as Inspected;
  const created: string[] = [];
  const found: string[] = [];
  try {
    await compose("up", "--no-start", "--no-build");
    for (const { app } of apps) {
      const parsed = parseNewAppSpec({ ...app, image });
      if (!parsed.ok) throw parsed.error;
      const { files = [], ...spec } = parsed.spec;
      const step = {
        kind: "create",
        spec,
        image,
        deploymentId: "d1",
        place: "app",
        previousImageId: undefined,
      } as const;
      const context = { config: { stateDir, containerLog: { maxBytes: 100_000, maxFiles: 2 } } };
      const mounts = files.map(({ target }) => ({ source: path, target }));
      const request = toRequest(context as ContainerStepContext, { ...step, refetch: false }, mounts);
      const network = spec.network === "none" ? { network: "none" as const } : {};
      const id = await engine.createContainer({ ...request, ...network, name: `${project}-${app.name}` }, unaborted);
      created.push(id);
      const ids = (await compose("ps", "-q", app.name)).trim();
      found.push(
        ...differences(await inspect(ids), await inspect(id), dirname(path)).map((text) => `${app.name}: ${text}`),
      );
    }
  } finally {
    for (const id of created) await engineRequest(socket, "DELETE", `/containers/${id}?force=1&v=1`);
    await run("docker-compose", ["-p", project, "-f", path, "-f", override, "down", "-v"], {
      env: { DOCKER_HOST: `unix://${socket}` },
    });
    const { body } = await engineRequest(socket, "GET", "/volumes");
    const volumes = (JSON.parse(body) as { readonly Volumes?: readonly { readonly Name: string }[] }).Volumes ?? [];
    for (const { Name } of volumes.filter((volume) => volume.Name.startsWith(enginePrefix(stateDir))))
      await engineRequest(socket, "DELETE", `/volumes/${Name}`);
  }
  return { services: apps.length, found };
}

const socket = await dockerSocket();
if (socket === undefined) throw new Error("no Docker answers on this machine");
const lists = await Promise.all(
  ["files.txt", "held-out.txt", "held-out-2.txt"].map((name) => readList(join(import.meta.dirname, name))),
);
const wanted = lists
  .flat()
  .filter(({ repository, path }) =>
    positionals.some((name) => name === repository || name === `${repository}:${path}`),
  );
const cache = await mkdtemp(join(tmpdir(), "compose-stacks-"));
const image = await loadImage(socket, await webImage(), "stand-in");
try {
  for (const [index, file] of wanted.entries()) {
    const into = join(cache, "work", String(index));
    const repository = await fetchRepository(file, join(cache, "repositories"), values.repositories);
    const { services, found } = await compareStack(await extract(file, repository, into), image.reference, socket);
    console.log(`${file.repository} ${file.path}: ${services} services, ${found.length} differences`);
    for (const text of found) console.log(`  ${text}`);
  }
} finally {
  await image[Symbol.asyncDispose]();
  await rm(cache, { recursive: true, force: true });
}
