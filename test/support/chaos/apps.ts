import { brokenImage, crashLoopImage, healthImage, loadImage, removeImage, sleeperImage } from "../images.ts";
import { freeHostPort } from "../free-port.ts";
import { Registry } from "../registry.ts";
import type { AppRequest } from "../system.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { expectedApps } from "./expected-apps.ts";
import type { AppChange, Request } from "./request.ts";
import type { ChaosSystem } from "./chaos-system.ts";

/** What the choice of a request depends on. */
type Deployed = Pick<ChaosSystem, "clients" | "name">;

const PORTS = 6;
const CHANGES = ["update", "update", "update", "update", "remove", "stop", "start", "restart"] as const;

/** Images with every kind of outcome, in an engine and in a registry, and a few ports to conflict over. */
export class Apps implements AsyncDisposable {
  readonly #images: readonly string[];
  readonly #ports: readonly number[];
  readonly #owned: AsyncDisposableStack;

  private constructor(images: readonly string[], ports: readonly number[], owned: AsyncDisposableStack) {
    this.#images = images;
    this.#ports = ports;
    this.#owned = owned;
  }

  static async in(engineSocket: string): Promise<Apps> {
    await using owned = new AsyncDisposableStack();
    const registry = owned.use(await Registry.start());
    const local = [await sleeperImage(), await crashLoopImage(3), await healthImage(1), await brokenImage()];
    const present: string[] = [];
    for (const image of local) present.push(owned.use(await loadImage(engineSocket, image, "chaos")).reference);
    // Pulled each time, since the tag is floating.
    const moving = await registry.push(await sleeperImage("2"), "chaos/moving:latest");
    owned.defer(() => removeImage(engineSocket, moving).catch(() => {}));
    const ports: number[] = [];
    while (ports.length < PORTS) ports.push(await freeHostPort());
    const [sleeper = ""] = present;
    return new Apps(
      [...present, sleeper, sleeper, moving, moving, `${registry.host}/chaos/none:1`],
      ports,
      owned.move(),
    );
  }

  /** Picks a random request: a deployment, or a change of an existing app. */
  randomRequest(system: Deployed, random: SeededRandom): Request {
    const ended = system.clients.filter(({ final }) => final !== undefined);
    const busy = new Set(system.clients.flatMap(({ request, final }) => (final ? [] : [request.name])));
    // The order of concurrent requests for one app cannot be predicted.
    const existing = [...expectedApps(ended).keys()].filter((name) => !busy.has(name));
    return existing.length > 0 && random.chance(0.5)
      ? this.#change(random.pick(existing), random)
      : this.#deployment(system, random, busy);
  }

  #change(name: string, random: SeededRandom): AppChange {
    const action = random.pick(CHANGES);
    if (action !== "update") return { name, action };
    const environments = [{ key: "SECRET", value: `value-${random.between(0, 1e9)}` }];
    const ports = random.chance(0.5) ? [{ host_port: random.pick(this.#ports), target_port: 80 }] : [];
    const patches = [{ image: random.pick(this.#images) }, { environments }, { ports }, { environments, ports }];
    return { name, action, patch: random.pick(patches) };
  }

  /** Picks a random app, now and then with the name or a port of an existing one. */
  #deployment(system: Deployed, random: SeededRandom, busy: ReadonlySet<string>): AppRequest {
    const earlier = system.clients.map(({ request }) => request.name).filter((name) => !busy.has(name));
    const name = earlier.length > 0 && random.chance(0.1) ? random.pick(earlier) : system.name();
    return {
      name,
      image: random.pick(this.#images),
      environments: [{ key: "SECRET", value: `value-${random.between(0, 1e9)}` }],
      ports: random.chance(0.5) ? [{ host_port: random.pick(this.#ports), target_port: 80 }] : [],
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
