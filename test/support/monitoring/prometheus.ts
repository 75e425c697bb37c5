import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type RunningCommand, start } from "../command.ts";
import { freePort } from "../free-port.ts";
import { tempDir } from "../temp-dir.ts";

/** A series of a query's result. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** Unix seconds and values. */
  readonly values: readonly (readonly [number, string])[];
}

/** A Prometheus, from Debian's package, that scrapes the targets every second. Disposing it stops it. */
export class Prometheus implements AsyncDisposable {
  readonly url: string;
  readonly #process: RunningCommand;
  readonly #directory: AsyncDisposable;

  private constructor(url: string, process: RunningCommand, directory: AsyncDisposable) {
    this.url = url;
    this.#process = process;
    this.#directory = directory;
  }

  /** @param targets such as `127.0.0.1:9464` */
  static async start(targets: readonly string[], rulesFile: string): Promise<Prometheus> {
    await using owned = new AsyncDisposableStack();
    const directory = owned.use(await tempDir());
    const listen = `127.0.0.1:${await freePort()}`;
    const configFile = join(directory.path, "prometheus.yaml");
    // JSON is YAML.
    const config = {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [resolve(rulesFile)],
      scrape_configs: [{ job_name: "edge-control", static_configs: [{ targets }] }],
    };
    await writeFile(configFile, JSON.stringify(config));
    const storage = `--storage.tsdb.path=${join(directory.path, "data")}`;
    const process = owned.use(
      start("prometheus", [`--config.file=${configFile}`, `--web.listen-address=${listen}`, storage]),
    );
    const url = `http://${listen}`;
    await process.waitUntil(
      "readiness",
      async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true,
    );
    owned.move();
    return new Prometheus(url, process, directory);
  }

  /** Returns the result of a query now, as numbers. Throws when Prometheus refuses the query. */
  async query(query: string): Promise<number[]> {
    const { result } = (await this.#get("query", { query })) as { result: { value: [number, string] }[] };
    return result.map(({ value }) => Number(value[1]));
  }

  /** Returns the series of a query in the time from `from` to `to`, in Unix seconds. */
  async range(query: string, from: number, to: number): Promise<readonly Series[]> {
    const parameters = { query, start: String(from), end: String(to), step: "1" };
    return ((await this.#get("query_range", parameters)) as { result: Series[] }).result;
  }

  /** Returns the health and the last error of each alert rule. */
  async rules(): Promise<readonly { readonly name: string; readonly health: string; readonly lastError?: string }[]> {
    const { groups } = (await this.#get("rules", {})) as { groups: { rules: { name: string; health: string }[] }[] };
    return groups.flatMap(({ rules }) => rules);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }

  async #get(path: string, parameters: Readonly<Record<string, string>>): Promise<unknown> {
    const response = await fetch(`${this.url}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
    const { status, data, error } = (await response.json()) as { status: string; data: unknown; error?: string };
    if (status !== "success") throw new Error(`Prometheus: ${error} in ${JSON.stringify(parameters)}`);
    return data;
  }
}
