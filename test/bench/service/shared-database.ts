import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { succeed } from "../../support/command.ts";
import { NatsServer } from "../../support/bus/nats-server.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { addAccount, prepareData, startService, type Service, withStore } from "./service.ts";
import { addDevices } from "./simulated-fleet.ts";

const PROGRAM = "dist/edge-control";

/** An account with assets whose devices have never connected. */
export interface PreparedFleet {
  readonly apiKey: string;
  readonly tokens: readonly string[];
}

/** Writes an account and its assets to the data directory of this folder. */
export async function prepareFleet(folder: string, devices: number): Promise<PreparedFleet> {
  await mkdir(folder, { recursive: true });
  const { accountId, apiKey } = await withStore(folder, addAccount);
  return { apiKey, tokens: addDevices((await prepareData(folder)).database, accountId, devices) };
}

/** A PostgreSQL whose commits are on disk, and a NATS, for one or more instances. */
export class SharedDatabase implements AsyncDisposable {
  readonly #folder: string;
  readonly #options: Readonly<Record<string, string>>;
  readonly #owned: AsyncDisposableStack;
  #instances = 0;

  private constructor(folder: string, options: Readonly<Record<string, string>>, owned: AsyncDisposableStack) {
    this.#folder = folder;
    this.#options = options;
    this.#owned = owned;
  }

  /**
   * Starts both, with a copy of the data directory of this folder.
   *
   * @param further options of each instance
   */
  static async copyOf(folder: string, further: Readonly<Record<string, string>> = {}): Promise<SharedDatabase> {
    await using owned = new AsyncDisposableStack();
    const postgres = owned.use(await PostgresServer.start({ isDurable: true }));
    const nats = owned.use(await NatsServer.start());
    const database = [
      "--database-url",
      `postgres://postgres@127.0.0.1:${postgres.port}/${await postgres.createDatabase()}`,
    ];
    await succeed(PROGRAM, ["migrate", ...database]);
    await succeed(PROGRAM, ["copy", "--from", join(folder, "data"), ...database]);
    const shared = { "database-url": database[1] ?? "", "nats-url": `nats://127.0.0.1:${nats.port}` };
    const options = { ...shared, ...further };
    return new SharedDatabase(folder, options, owned.move());
  }

  /** Starts one more instance. It is stopped with the database at the latest. */
  async startInstance(): Promise<Service> {
    const folder = join(this.#folder, `instance-${++this.#instances}`);
    return this.#owned.use(await startService(folder, this.#options));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
