import { type AppRequest, change, deploy, type Target } from "../../../scripts/system/client.ts";
import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import type { SeededRandom } from "../../support/chaos/seeded-random.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { uniqueName, WEB_PORT } from "../../support/images.ts";
import { milliseconds } from "../measure.ts";

const MAX_APPS = 6;

export interface RandomDeploymentsOptions {
  readonly target: Target;
  readonly random: SeededRandom;
  /** Of images on the device. */
  readonly images: readonly string[];
}

/** A client that deploys, updates, restarts and removes apps at random, and requests what must fail. */
export class RandomDeployments {
  readonly durationsMs: number[] = [];
  /** How often each action was requested. */
  readonly counts: Record<string, number> = {};
  readonly #options: RandomDeploymentsOptions;
  readonly #apps: AppRequest[] = [];

  constructor(options: RandomDeploymentsOptions) {
    this.#options = options;
  }

  /** Requests one action and waits for its end. Rejects if the outcome is not the expected one. */
  async next(): Promise<void> {
    const { random } = this.#options;
    const isFull = this.#apps.length === MAX_APPS;
    if (this.#apps.length === 0) return await this.#deploy();
    if (random.chance(0.1)) return await this.#deployToUsedPort();
    if (!isFull && random.chance(0.4)) return await this.#deploy();
    if (isFull || random.chance(0.2)) return await this.#remove();
    return random.chance(0.6) ? await this.#update() : await this.#restart();
  }

  async #deploy(): Promise<void> {
    const app = await this.#randomApp(uniqueName("small"));
    await this.#expect("deploy", "Success", deploy(this.#options.target, app));
    this.#apps.push(app);
  }

  async #deployToUsedPort(): Promise<void> {
    const { random, target } = this.#options;
    const app = { ...random.pick(this.#apps), name: uniqueName("small") };
    await this.#expect("deploy to a used port", "ErrorPortInUse", deploy(target, app));
  }

  async #update(): Promise<void> {
    const { random, target } = this.#options;
    const { name } = random.pick(this.#apps);
    const body = { environments: [{ key: "VERSION", value: String(random.between(1, 1_000_000)) }] };
    await this.#expect("update", "Success", change(target, "PATCH", name, body));
  }

  async #restart(): Promise<void> {
    const { name } = this.#options.random.pick(this.#apps);
    await this.#expect("restart", "Success", change(this.#options.target, "POST", `${name}/restart`));
  }

  async #remove(): Promise<void> {
    const { random, target } = this.#options;
    for (const { name } of this.#apps.splice(random.between(0, this.#apps.length - 1), 1)) {
      await this.#expect("remove", "Success", change(target, "DELETE", name));
    }
  }

  async #randomApp(name: string): Promise<AppRequest> {
    const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
    return { name, image: this.#options.random.pick(this.#options.images), ports };
  }

  /** @param outcome `Success`, or the code of the expected failure */
  async #expect(action: string, outcome: string, events: AsyncIterable<DeploymentEvent>): Promise<void> {
    let last: DeploymentEvent | undefined;
    const duration = await milliseconds(async () => {
      for await (const event of events) last = event;
    });
    if ((last?.code ?? last?.status) !== outcome) {
      const { code = last?.status, message } = last ?? {};
      throw new Error(`${action}, after ${this.durationsMs.length} other actions: ${code}: ${message}`);
    }
    this.durationsMs.push(duration);
    this.counts[action] = (this.counts[action] ?? 0) + 1;
  }
}
