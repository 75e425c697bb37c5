import { setTimeout as sleep } from "node:timers/promises";
import type { RolloutBody } from "../../../src/protocol/fleets/rollout.ts";
import type { Service } from "./service.ts";

const FLEET = "bench";
const POLL_MS = 250;

/** One fleet over all assets, with one app or a release of the agent, through the API. */
export class RolloutClient {
  readonly #url: string;
  readonly #apiKey: string;

  constructor({ host, port }: Pick<Service, "host" | "port">, apiKey: string) {
    this.#url = `http://${host}:${port}/v1/fleets`;
    this.#apiKey = apiKey;
  }

  async createFleet(selector: string, maxParallel: number, waves: readonly object[] = []): Promise<void> {
    const strategy = { soak_s: 0, max_parallel: maxParallel, ...(waves.length > 0 && { waves }) };
    await this.#post("", { name: FLEET, selector, apps: ["kiosk"], strategy });
  }

  /** Makes the next revision, whose image differs from those before, and a rollout of it that is not started. */
  async draft(): Promise<string> {
    const digest = crypto.getRandomValues(Buffer.alloc(32)).toString("hex");
    const app = { name: "kiosk", image: `registry.example/team/kiosk@sha256:${digest}` };
    return await this.#draft({ apps: [{ app }] });
  }

  /** The same, of a revision with a release of the agent and no app. */
  async draftAgent(version: string): Promise<string> {
    return await this.#draft({ apps: [], agent: { version } });
  }

  async #draft(revision: object): Promise<string> {
    await this.#post(`/${FLEET}/revisions`, revision);
    return ((await this.#post(`/${FLEET}/rollouts`, { start: false })) as RolloutBody).id;
  }

  async command(id: string, command: "resume" | "pause"): Promise<RolloutBody> {
    return (await this.#post(`/${FLEET}/rollouts/${id}/${command}`)) as RolloutBody;
  }

  async read(id: string): Promise<RolloutBody> {
    return (await this.#ask(`/${FLEET}/rollouts/${id}`, {})) as RolloutBody;
  }

  /** Resolves when every target has succeeded. */
  async succeeded(id: string): Promise<void> {
    for (;;) {
      const { state, reason, counts } = await this.read(id);
      if (state === "succeeded") return;
      if (state !== "running") throw new Error(`the rollout is ${state}: ${reason} ${JSON.stringify(counts)}`);
      await sleep(POLL_MS);
    }
  }

  #post(path: string, body?: object): Promise<unknown> {
    if (body === undefined) return this.#ask(path, { method: "POST" });
    const headers = { "Content-Type": "application/json" };
    return this.#ask(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async #ask(
    path: string,
    init: Omit<RequestInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<unknown> {
    const headers = { ...init.headers, "X-API-Key": this.#apiKey };
    const response = await fetch(this.#url + path, { ...init, headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }
}
