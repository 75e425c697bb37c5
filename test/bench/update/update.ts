import { join } from "node:path";
import { change, deploy } from "../../../scripts/system/client.ts";
import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { succeed } from "../../support/command.ts";
import { removeImage, uniqueName } from "../../support/images.ts";
import type { Image } from "../../support/images/image.ts";
import { LossyLink } from "../../support/link/lossy-link.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";
import { Registry } from "../../support/registry.ts";
import { engineSocket } from "../engine-socket.ts";
import { median } from "../measure.ts";
import { type Bench, atMost, inMegabytes, inMilliseconds, type Row } from "../result.ts";
import { startSystem } from "../system.ts";
import { debianVersions, nodeAppVersions, smallVersions, type Versions, zstdChunked } from "./app-versions.ts";
import { type AgentCost, type Cost, measured, type Watched, watched } from "./watched.ts";

/** Processor times differ by a third from one run to the next. */
const ROUNDS = 3;

/** Rate of a fast cellular link, in bytes per second. */
const CELLULAR = 10_000_000;

interface Costs<C> {
  /** The first pull of the old version. */
  readonly first: C;
  readonly update: C;
}

/**
 * Bytes on the wire of an update, counted in a relay before the registry, compared with `docker pull` of the same image: an
 * ordinary image with an index beside it, and one with zstd:chunked layers. With the agent's processor time, memory and disk, and
 * the processor time of the device: agent and engine. For that the engine is a private one, which nobody else uses.
 */
export const update: Bench = {
  name: "update",
  async run({ quick }) {
    await using owned = new AsyncDisposableStack();
    const isAlone = (await privateEngineUnavailableReason()) === undefined;
    const engine = isAlone
      ? owned.use(await PrivateEngine.start())
      : { socketPath: await engineSocket(), pid: undefined };
    const rig = new Rig(engine, owned.use(await Registry.start()), owned);
    const app = await (quick ? smallVersions() : nodeAppVersions());
    const appName = `${quick ? "made-up" : "Node.js"} app of ${app.files} files, patch release`;
    const chunkedApp = quick ? undefined : { ...app, old: zstdChunked(app.old), next: zstdChunked(app.next) };
    const rounds = await inRounds(quick ? 1 : ROUNDS, async () => ({
      docker: await rig.docker(app),
      indexed: await rig.agent(app, true),
      chunked: chunkedApp ? [await rig.agent(chunkedApp, false)] : [],
    }));
    const docker = inAll(rounds.map((round) => round.docker));
    const indexed = inAll(rounds.map((round) => round.indexed));
    const rows = [
      bytesRow(`${appName}, with an index: received`, indexed.update, docker.update, 1 / 15),
      bytesRow("the same, first pull: received", indexed.first, docker.first, 1.02),
      ...agentRows("the update with an index", indexed, docker.update),
    ];
    if (quick) return { data: { docker, indexed }, rows };
    const chunked = inAll(rounds.flatMap((round) => round.chunked));
    const debian = await debianVersions();
    const debianRounds = await inRounds(ROUNDS, async () => ({
      docker: await rig.docker(debian),
      indexed: await rig.agent(debian, true),
    }));
    const debianDocker = inAll(debianRounds.map((round) => round.docker));
    const debianIndexed = inAll(debianRounds.map((round) => round.indexed));
    return {
      data: { docker, indexed, chunked, debianDocker, debianIndexed },
      rows: [
        ...rows,
        bytesRow(`${appName}, zstd:chunked: received`, chunked.update, docker.update, 1 / 10),
        ...agentRows("the update with zstd:chunked", chunked, docker.update),
        bytesRow(
          "Debian after updates of five packages, with an index: received",
          debianIndexed.update,
          debianDocker.update,
          1 / 4,
        ),
        bytesRow("the same with an index, first pull: received", debianIndexed.first, debianDocker.first, 1.02),
        ...agentRows("its update", debianIndexed, debianDocker.update),
      ],
    };
  },
};

/** Measures everything once in every round, so that other load affects all of it. */
async function inRounds<T>(rounds: number, measure: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let round = 0; round < rounds; round++) results.push(await measure());
  return results;
}

function inAll<C extends Cost>(costs: readonly Costs<C>[]): Costs<C> {
  return { first: summary(costs.map(({ first }) => first)), update: summary(costs.map(({ update }) => update)) };
}

/** Medians, and the most memory and disk. */
function summary<C extends Cost>(costs: readonly C[]): C {
  const [first] = costs;
  if (!first) throw new Error("nothing was measured");
  const figures = Object.keys(first).flatMap((key) => {
    const values = costs.map((cost) => (cost as Readonly<Record<string, unknown>>)[key]);
    const numbers = values.filter((value) => typeof value === "number");
    if (numbers.length < values.length) return [];
    return [[key, key === "memory" || key === "disk" ? Math.max(...numbers) : median(numbers)] as const];
  });
  return { ...first, ...Object.fromEntries(figures) };
}

interface Engine {
  readonly socketPath: string;
  /** If it is ours alone. */
  readonly pid: number | undefined;
}

class Rig {
  readonly #engine: Engine;
  readonly #registry: Registry;
  readonly #owned: AsyncDisposableStack;

  constructor(engine: Engine, registry: Registry, owned: AsyncDisposableStack) {
    this.#engine = engine;
    this.#registry = registry;
    this.#owned = owned;
  }

  /** `docker pull` of both versions, which are removed after that. */
  async docker({ old, next }: Versions): Promise<Costs<Cost>> {
    await using link = await LossyLink.to(this.#registry.port, { bytesPerSecond: CELLULAR });
    await using stack = new AsyncDisposableStack();
    const pull = async (image: Image, name: string): Promise<Cost> => {
      const reference = await this.#push(image, name, link, stack);
      const command = ["--host", `unix://${this.#engine.socketPath}`, "pull", "--quiet", reference];
      return await measured(this.#watched(link), () => succeed("docker", command, { timeoutMs: 300_000 }));
    };
    const repository = uniqueName("pulled");
    return { first: await pull(old, `${repository}:1`), update: await pull(next, `${repository}:2`) };
  }

  /** A deployment of the old version and an update to the new one, by an agent with nothing else. */
  async agent({ old, next }: Versions, hasIndex: boolean): Promise<Costs<AgentCost>> {
    await using link = await LossyLink.to(this.#registry.port, { bytesPerSecond: CELLULAR });
    await using stack = new AsyncDisposableStack();
    const repository = uniqueName("updated");
    const references = [
      await this.#push(old, `${repository}:1`, link, stack),
      await this.#push(next, `${repository}:2`, link, stack),
    ] as const;
    if (hasIndex)
      for (const reference of references) await this.#index(reference.replace(link.host, this.#registry.host));
    const socket = this.#engine.socketPath;
    await using system = await startSystem({ deploy: { settle_window_s: 0 }, engine: { socket } });
    const { target } = system;
    const name = uniqueName("app");
    const agent = { pid: system.agent.pid, directory: join(system.folder, "device") };
    const run = (events: () => AsyncIterable<DeploymentEvent>): Promise<AgentCost> =>
      watched(this.#watched(link), agent, (onImage) => untilSuccess(events(), onImage));
    const first = await run(() => deploy(target, { name, image: references[0] }));
    const changed = await run(() => change(target, "PATCH", name, { image: references[1] }));
    return { first, update: changed };
  }

  #watched(link: LossyLink): Watched {
    return { link, enginePid: this.#engine.pid };
  }

  async #index(reference: string): Promise<void> {
    await using user = await edgectlUser();
    const { code, stderr } = await user.run(["--json", "images", "index", reference], {
      env: { DOCKER_CONFIG: this.#registry.host },
    });
    if (code !== 0) throw new Error(`no index: ${stderr}`);
  }

  /** Pushes an image. Returns its reference through the link. */
  async #push(image: Image, name: string, link: LossyLink, stack: AsyncDisposableStack): Promise<string> {
    const reference = (await this.#registry.push(image, name)).replace(this.#registry.host, link.host);
    stack.defer(() => removeImage(this.#engine.socketPath, reference));
    // After a failure the containers go first, with the system.
    this.#owned.defer(() => removeImage(this.#engine.socketPath, reference).catch(() => undefined));
    return reference;
  }
}

/** Follows a deployment. @param onImage called when the image is on the device */
async function untilSuccess(events: AsyncIterable<DeploymentEvent>, onImage: () => void): Promise<void> {
  let last: DeploymentEvent | undefined;
  let hasPulled = false;
  for await (const event of events) {
    last = event;
    hasPulled ||= event.step === "pulling";
    if (hasPulled && event.step !== "pulling") onImage();
  }
  if (last?.status !== "Success") throw new Error(`the deployment failed: ${last?.message}`);
}

function bytesRow(what: string, ours: Cost, docker: Cost, bound: number): Row {
  const ratio = ours.received / docker.received;
  const text = bound < 1 ? `1/${Math.round(1 / bound)}` : `${bound}x`;
  const target = { text: `at most ${text}`, met: ratio <= bound };
  const factor = ratio < 1 ? ` (1/${(1 / ratio).toFixed(1)})` : "";
  return {
    what,
    value: `${(ours.received / 1e6).toFixed(2)} MB${factor}`,
    reference: `docker pull: ${(docker.received / 1e6).toFixed(2)} MB`,
    ratio,
    target,
  };
}

function agentRows(what: string, { first, update: changed }: Costs<AgentCost>, docker: Cost): Row[] {
  const ratio = changed.processorMs / first.processorMs;
  return [
    {
      what: `${what}: agent's processor time until the image is there`,
      value: inMilliseconds(changed.processorMs),
      reference: `its plain download: ${inMilliseconds(first.processorMs)}`,
      ratio,
      target: atMost(3, "x", ratio),
    },
    ...deviceRows(what, { first, update: changed }, docker),
    {
      what: `${what}: agent's memory, most above before`,
      value: inMegabytes(changed.memory),
      target: atMost(24, "MB", changed.memory / 1e6),
    },
    { what: `${what}: disk of the agent, most above before`, value: inMegabytes(changed.disk) },
  ];
}

/** Agent and engine together. None if the engine is used by others too. */
function deviceRows(what: string, { first, update: changed }: Costs<AgentCost>, docker: Cost): Row[] {
  if (changed.engineMs === undefined || first.engineMs === undefined || docker.engineMs === undefined) return [];
  const [ours, plain] = [changed.processorMs + changed.engineMs, first.processorMs + first.engineMs];
  const toPlain = ours / plain;
  const toDocker = ours / docker.engineMs;
  const value = `${inMilliseconds(ours)}, of which the engine ${inMilliseconds(changed.engineMs)}`;
  return [
    {
      what: `${what}: processor time of the device, agent and engine`,
      value,
      reference: `docker pull: ${inMilliseconds(docker.engineMs)}`,
      ratio: toDocker,
      target: atMost(3, "x", toDocker),
    },
    {
      what: "the same",
      value,
      reference: `plain download by the agent: ${inMilliseconds(plain)}, of which the engine ${inMilliseconds(first.engineMs)}`,
      ratio: toPlain,
      target: atMost(3, "x", toPlain),
    },
  ];
}
