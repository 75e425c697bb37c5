import type { AddressInfo } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { buildServer } from "./api/build-server.ts";
import { AssetUpdater } from "./assets/update-asset.ts";
import type { Config } from "./config.ts";
import type { SimOperator } from "./sim-operator/sim-operator.ts";
import type { Store } from "./store/store.ts";

/** What a server is made of. The caller keeps the store and closes it after the server has stopped. */
export interface ServerParts {
  readonly config: Config;
  readonly store: Store;
  readonly simOperator: SimOperator;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RunningServer {
  readonly host: string;
  /** The actual port, also where the configuration says 0. */
  readonly port: number;
  /** Stops gracefully. Resolves within seconds; safe to call twice. */
  stop(): Promise<void>;
}

/** Starts edge-control and resolves when it listens. Throws when the address cannot be listened on. */
export async function startServer({ config, store, simOperator, clock, logger }: ServerParts): Promise<RunningServer> {
  const stopping = new AbortController();
  const assetUpdater = new AssetUpdater({ store, simOperator, clock, logger, stopping: stopping.signal });
  const api = await buildServer({
    config,
    store,
    simOperator,
    assetUpdater,
    clock,
    logger,
    stopping: stopping.signal,
  });
  await api.listen(config.listen);
  const { address, port } = api.server.address() as AddressInfo;
  logger.info({ address, port }, "listening");
  let stopped: Promise<void> | undefined;
  return {
    host: address,
    port,
    stop() {
      stopping.abort();
      stopped ??= api.close();
      return stopped;
    },
  };
}
