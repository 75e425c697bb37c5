import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../support/command.ts";
import { type Image, removeImage, uniqueName } from "../support/images.ts";
import { buildImage, fileLayer } from "../support/images/image.ts";
import { LossyLink, type LinkConditions } from "../support/link/lossy-link.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { Registry } from "../support/registry.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, milliseconds, paired } from "./measure.ts";
import { processorMs, residentBytes } from "./process-usage.ts";
import { type Bench, type Row, atMost, inMegabytes, inMilliseconds } from "./result.ts";
import { change } from "../../scripts/system/client.ts";
import { deployed, startSystem, succeeded, type System } from "./system.ts";

const MEGABYTES = 100;
/** Megabytes after which each connection is cut, and the maximum traffic as a multiple of the image size. */
const CUTS = [
  [40, 1.02],
  [15, 1.02],
  [5, 1.02],
  [1, 1.15],
] as const;
/** Rate of a fast cellular link, in bytes per second. A faster one has too many bytes in flight at a cut. */
const CELLULAR = 10_000_000;
/** Rate of a stable link, in bytes per second. */
const GOOD = 20_000_000;
/** One `docker pull` tries a layer up to six times by itself. */
const DOCKER_TRIES = 3;
const MEMORY_INTERVAL_MS = 20;

/**
 * Traffic of a large image over a link that drops, compared with `docker pull` through the same relay. On a stable link:
 * time, memory, processor, and an image of which most layers are present.
 */
export const badLink: Bench = {
  name: "bad-link",
  async run({ quick }) {
    await using owned = new AsyncDisposableStack();
    const registry = owned.use(await Registry.start());
    const image = await oneLayerImage();
    const name = await registry.push(image, "bench/big:1");
    const wanted = image.layers.reduce((sum, layer) => sum + layer.compressed.length, 0);
    const system = owned.use(await startSystem({ deploy: { settle_window_s: 0 } }));
    const bench = new PullBench(system, await engineSocket(), registry, name);

    // Runs concurrently, since it mostly waits.
    const docker = dockerPulls(registry, quick ? 1 : DOCKER_TRIES);
    const ours: number[] = [];
    for (const [cut] of CUTS) ours.push(await bench.wire({ cutAfter: cut * 1e6, bytesPerSecond: CELLULAR }));
    const memory = await bench.usage();
    const shared = await bench.shared(image);
    const times = await bench.times(quick ? 1 : 2);
    const theirs = await docker;

    const rows = CUTS.map(([cut, bound], index): Row => {
      const ratio = (ours[index] ?? Number.NaN) / wanted;
      return {
        what: `${MEGABYTES} MB layer, link cut every ${cut} MB: on the wire`,
        value: inMegabytes(ours[index] ?? Number.NaN),
        reference: theirs[index] ?? "docker pull: not measured",
        ratio,
        target: atMost(bound, "x the image", ratio),
      };
    });
    return {
      data: { wanted, cuts: CUTS.map(([cut]) => cut), ours, theirs, memory, shared, times },
      rows: [
        ...rows,
        { what: `a second image that shares the ${MEGABYTES} MB: on the wire`, value: inMegabytes(shared) },
        {
          what: `deploy with ${MEGABYTES} MB over a link that holds (${GOOD / 1e6} MB/s), median`,
          value: inMilliseconds(median(times.ours)),
          reference: `docker pull + run: ${inMilliseconds(median(times.reference))}`,
          ratio: times.ratio,
          target: atMost(1.05, "x", times.ratio),
        },
        {
          what: `agent's memory, most during ${MEGABYTES} MB of download, above before`,
          value: inMegabytes(memory.bytes),
          target: atMost(16, "MB", memory.bytes / 1e6),
        },
        { what: `agent's processor time for ${MEGABYTES} MB of download`, value: inMilliseconds(memory.processorMs) },
      ],
    };
  },
};

/** An image with one unique layer that does not compress. */
async function oneLayerImage(): Promise<Image> {
  const layer = await fileLayer([
    { path: "bin/", directory: true },
    { path: "bin/busybox", content: await readFile("/bin/busybox"), mode: 0o755 },
    { path: "blob", content: randomBytes(MEGABYTES * 1_000_000) },
  ]);
  return buildImage([layer], { Cmd: ["/bin/busybox", "sleep", "2147483"], StopSignal: "SIGKILL" });
}

/** Deployments of one large image by the agent, each without the image present. */
class PullBench {
  readonly #system: System;
  readonly #socket: string;
  readonly #registry: Registry;
  readonly #name: string;

  constructor(system: System, socket: string, registry: Registry, name: string) {
    this.#system = system;
    this.#socket = socket;
    this.#registry = registry;
    this.#name = name;
  }

  /** Bytes received over a link of this kind. */
  async wire(weather: LinkConditions): Promise<number> {
    await using link = await this.#link(weather);
    await this.#deploy(link, this.#name);
    return link.received;
  }

  /** The agent's maximum additional memory and its processor time during a download. */
  async usage(): Promise<{ readonly bytes: number; readonly processorMs: number }> {
    await using link = await this.#link({});
    const { pid } = this.#system.agent;
    const [before, busy] = [residentBytes(pid), processorMs(pid)];
    let most = before;
    const over = new AbortController();
    const watching = (async () => {
      for (; !over.signal.aborted; await sleep(MEMORY_INTERVAL_MS)) most = Math.max(most, residentBytes(pid));
    })();
    await this.#deploy(link, this.#name, async () => over.abort());
    await watching;
    return { bytes: most - before, processorMs: processorMs(pid) - busy };
  }

  /** Bytes received for an image of which only a small layer is missing. */
  async shared(base: Image): Promise<number> {
    await using link = await this.#link({});
    const own = await fileLayer([{ path: "own", content: "only here" }]);
    const { config } = JSON.parse(base.config.toString()) as { config: object };
    const derived = await this.#registry.push(buildImage([...base.layers, own], config), "bench/derived:1");
    let received = 0;
    await this.#deploy(link, this.#name, async () => {
      const before = link.received;
      await this.#deploy(link, derived, async () => void (received = link.received - before));
    });
    return received;
  }

  /** Time from the request until the app runs, compared with the engine's own commands. */
  times(rounds: number) {
    return paired(
      rounds,
      async () => {
        await using link = await this.#link({});
        return await this.#deploy(link, this.#name);
      },
      async () => {
        await using link = await this.#link({});
        const image = this.#name.replace(this.#registry.host, link.host);
        const took = await milliseconds(async () => {
          await expectSuccess(["pull", image]);
          await expectSuccess(["run", "-d", "--name", uniqueName("reference"), image]);
        });
        await removeImage(this.#socket, image);
        return took;
      },
    );
  }

  #link(weather: LinkConditions): Promise<LossyLink> {
    return LossyLink.to(this.#registry.port, { bytesPerSecond: GOOD, ...weather });
  }

  /**
   * Deploys an app with the image, and removes both. Returns how long the deployment took, in milliseconds. Rejects if the image of
   * 100 MB was not fetched over the link.
   *
   * @param then called while the image is present
   */
  async #deploy(link: LossyLink, name: string, then: () => Promise<void> = () => Promise.resolve()): Promise<number> {
    const image = name.replace(this.#registry.host, link.host);
    const { target } = this.#system;
    const app = uniqueName("app");
    try {
      const tookMs = await milliseconds(() => deployed(target, { name: app, image }));
      await then();
      if (name === this.#name && link.received < MEGABYTES * 1e6)
        throw new Error(`the device had the image already: only ${link.received} bytes were received`);
      // The agent makes a container anew that is removed behind its back, and the image would stay with it.
      await succeeded(change(target, "DELETE", app));
      return tookMs;
    } finally {
      await removeImage(this.#socket, image);
    }
  }
}

/**
 * Describes the result of `docker pull` over each kind of link. Uses a separate engine, to not delay the agent's, and
 * separate images, since an engine shares concurrent pulls of one image.
 */
async function dockerPulls(registry: Registry, tries: number): Promise<string[]> {
  if ((await privateEngineUnavailableReason()) !== undefined) return [];
  const names: string[] = [];
  for (const [cut] of CUTS) names.push(await registry.push(await oneLayerImage(), `bench/cut-${cut}:1`));
  await using engine = await PrivateEngine.start();
  return await Promise.all(
    CUTS.map(async ([cut], index) => {
      const name = names[index] ?? "";
      await using link = await LossyLink.to(registry.port, {
        bytesPerSecond: CELLULAR,
        cutAfter: cut * 1e6,
      });
      const args = ["-H", `unix://${engine.socketPath}`, "pull", "-q", name.replace(registry.host, link.host)];
      for (let made = 1; made <= tries; made++) {
        if ((await run("docker", args)).code === 0) {
          return `docker pull: ${inMegabytes(link.received)}, pull ${made}`;
        }
      }
      return `docker pull: never completes, ${inMegabytes(link.received)} in ${tries} pulls`;
    }),
  );
}

async function expectSuccess(args: readonly string[]): Promise<void> {
  const { code, stderr } = await run("docker", args);
  if (code !== 0) throw new Error(`docker ${args[0]} failed: ${stderr}`);
}
