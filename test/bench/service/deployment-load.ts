import { Agent, request } from "node:http";
import type { Service } from "./service.ts";

const APP = { name: "web", image: "registry.example/team/web:1" };

type Address = Pick<Service, "host" | "port">;

/** When a deployment's events arrived, in milliseconds from its request. */
export interface DeploymentTimes {
  /** The first event that the device sent. */
  readonly firstMs: number;
  readonly endMs: number;
}

/**
 * Deploys to the devices of a fleet, one after the other, and reads the event streams to their end. With several instances
 * the requests go to them in turn, to each one's own devices as often as to those of the others if the devices are dealt
 * out in turn too.
 */
export class DeploymentLoad implements Disposable {
  readonly #instances: readonly Address[];
  readonly #apiKey: string;
  readonly #devices: number;
  readonly #body: string;
  readonly #action: string;
  readonly #agent = new Agent({ keepAlive: true });
  #next = 0;

  /**
   * @param options of each request, beside the app
   * @param group name of the group that the app is applied as; by default it is deployed by itself
   */
  constructor(instances: readonly Address[], apiKey: string, devices: number, options: object = {}, group?: string) {
    const body = group === undefined ? APP : { project: group, apps: [{ app: APP }] };
    this.#body = JSON.stringify({ ...body, ...options });
    this.#action = group === undefined ? "apps" : "apply";
    this.#instances = instances;
    this.#apiKey = apiKey;
    this.#devices = devices;
  }

  /** Deploys `count` times, with so many deployments at a time. */
  async deployMany(count: number, concurrency: number): Promise<DeploymentTimes[]> {
    const times: DeploymentTimes[] = [];
    let started = 0;
    const workers = Array.from({ length: concurrency }, async () => {
      while (started++ < count) times.push(await this.#deploy());
    });
    await Promise.all(workers);
    return times;
  }

  /** Sends requests at a constant rate, whether or not earlier ones have ended. */
  async deployAt(perSecond: number, ms: number): Promise<DeploymentTimes[]> {
    const outcomes = await this.attemptAt(perSecond, ms);
    return outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason as Error;
      return outcome.value;
    });
  }

  /** The same for deployments that may fail. */
  async attemptAt(perSecond: number, ms: number): Promise<PromiseSettledResult<DeploymentTimes>[]> {
    const running: Promise<DeploymentTimes>[] = [];
    const start = performance.now();
    for (let due = 0; due < ms; due = (running.length / perSecond) * 1000) {
      const delay = start + due - performance.now();
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      const deployment = this.#deploy();
      // Read at the end.
      deployment.catch(() => undefined);
      running.push(deployment);
    }
    return await Promise.allSettled(running);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /** Rejects unless the deployment succeeds. */
  #deploy(): Promise<DeploymentTimes> {
    const number = this.#next++;
    const count = this.#instances.length;
    const { host, port } = this.#instances[Math.floor(number / count) % count] as Address;
    const path = `/v1/assets/GW-${number % this.#devices}/edge/${this.#action}`;
    const headers = {
      "X-API-Key": this.#apiKey,
      "Content-Type": "application/json",
      "Content-Length": this.#body.length,
    };
    const { promise, resolve, reject } = Promise.withResolvers<DeploymentTimes>();
    const start = performance.now();
    const outgoing = request({ host, port, path, method: "POST", headers, agent: this.#agent }, (response) => {
      let text = "";
      let firstMs = Number.NaN;
      response.setEncoding("latin1");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (Number.isNaN(firstMs) && text.includes('"step":"checking"')) firstMs = performance.now() - start;
      });
      response.on("error", reject);
      response.on("end", () => {
        if (text.includes('"status":"Success"')) resolve({ firstMs, endMs: performance.now() - start });
        else reject(new Error(`a deployment failed: ${text.slice(-500)}`));
      });
    });
    outgoing.on("error", reject).end(this.#body);
    return promise;
  }
}
