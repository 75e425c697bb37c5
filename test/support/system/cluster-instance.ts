import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { succeed } from "../command.ts";
import { TcpRelay } from "../link/tcp-relay.ts";
import { ControlProcess } from "./control.ts";

/** Settings of edge-control, as in its configuration file. */
export type ControlSettings = Readonly<Record<string, string | number | object>>;

interface InstanceOptions {
  /** Made if it does not exist. */
  readonly directory: string;
  readonly databasePort: number;
  readonly databaseName: string;
  readonly natsPort: number;
  readonly settings: ControlSettings;
}

/** One edge-control of several on the same database, with links of its own to the database and to NATS. */
export class ClusterInstance extends ControlProcess {
  /** Its link to the database, which can be cut, severed and silenced. */
  readonly databaseLink: TcpRelay;
  /** The same to NATS. */
  readonly natsLink: TcpRelay;
  readonly #configFile: string;

  private constructor(directory: string, configFile: string, databaseLink: TcpRelay, natsLink: TcpRelay) {
    super(directory, ["--config", configFile]);
    this.#configFile = configFile;
    this.databaseLink = databaseLink;
    this.natsLink = natsLink;
  }

  /** Prepares an instance without starting it. Disposing it stops it and removes its links. */
  static async create(options: InstanceOptions): Promise<ClusterInstance> {
    await using owned = new AsyncDisposableStack();
    const { directory, databaseName, settings } = options;
    await mkdir(directory, { recursive: true });
    const database = owned.use(await TcpRelay.to(options.databasePort));
    const nats = owned.use(await TcpRelay.to(options.natsPort));
    const configFile = join(directory, "control.json");
    const config = {
      database_url: `postgres://postgres@127.0.0.1:${database.port}/${databaseName}`,
      nats_url: `nats://127.0.0.1:${nats.port}`,
      ...settings,
    };
    await writeFile(configFile, JSON.stringify(config));
    owned.move();
    return new ClusterInstance(directory, configFile, database, nats);
  }

  /** Brings the database to this program's schema. */
  async migrate(): Promise<void> {
    await succeed("dist/edge-control", ["migrate", "--config", this.#configFile]);
  }

  override async administer(...args: readonly string[]): Promise<Record<string, string>> {
    const output = await succeed("dist/edge-control", [...args, "--config", this.#configFile, "--json"]);
    return JSON.parse(output) as Record<string, string>;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.databaseLink[Symbol.asyncDispose]();
    await this.natsLink[Symbol.asyncDispose]();
  }
}
