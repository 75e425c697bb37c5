import { join } from "node:path";
import { succeed } from "../command.ts";
import { Executable } from "./executable.ts";

const EXECUTABLE = "dist/edge-control";

/** An account and its API key. */
export interface Account {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

/** An asset and its device token. */
export interface Asset {
  readonly uuid: string;
  readonly serialNumber: string;
  readonly deviceToken: string;
}

/** edge-control as a real process on a free port, kept over restarts; ready when it listens. */
export class ControlProcess extends Executable {
  readonly dataDir: string;
  readonly #at: { port: number; flags: readonly string[] };

  /** @param flags further options of `edge-control serve` */
  constructor(directory: string, flags: readonly string[]) {
    const at = { port: 0, flags };
    const dataDir = join(directory, "control");
    super({
      path: EXECUTABLE,
      args: () => {
        const listen = `127.0.0.1:${at.port}`;
        const options = { listen, "data-dir": dataDir, "log-level": "debug", "rate-limit-per-minute": "100000" };
        return ["serve", ...Object.entries(options).flatMap(([key, value]) => [`--${key}`, value]), ...at.flags];
      },
      isReady: ({ msg }) => msg === "listening",
    });
    this.dataDir = dataDir;
    this.#at = at;
  }

  override async start() {
    const line = await super.start();
    this.#at.port = Number(line["port"]);
    return line;
  }

  /** Options from its next start on. */
  useFlags(...flags: readonly string[]): void {
    this.#at.flags = flags;
  }

  get port(): number {
    return this.#at.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Runs an administration command on its data and returns the printed JSON. */
  async administer(...args: readonly string[]): Promise<Record<string, string>> {
    const output = await succeed(EXECUTABLE, [...args, "--data-dir", this.dataDir, "--json"]);
    return JSON.parse(output) as Record<string, string>;
  }

  async createAccount(name: string): Promise<Account> {
    const { account_id: accountId = "" } = await this.administer("account", "create", name);
    const create = ["key", "create", "--account", accountId, "--name", name, "--role", "admin"];
    const key = await this.administer(...create);
    return { accountId, keyId: key["key_id"] ?? "", apiKey: key["api_key"] ?? "" };
  }

  async addAsset(accountId: string, serialNumber: string): Promise<Asset> {
    const options = ["--account", accountId, "--serial-number", serialNumber];
    const { uuid = "", device_token: deviceToken = "" } = await this.administer("asset", "add", ...options);
    return { uuid, serialNumber, deviceToken };
  }
}
