import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import { configSchema } from "./config.ts";
import { startServer } from "./server.ts";
import { StoredSimOperator } from "./sim-operator/stored-sim-operator.ts";
import { openStore } from "./store/sqlite/open-store.ts";

const config = configSchema.parse({});
mkdirSync(config.data_dir, { recursive: true, mode: 0o700 });
const logger = await createLogger({ name: "edge-control", level: config.log_level });
const store = openStore(join(config.data_dir, "edge-control.sqlite"));
await startServer({
  config,
  store,
  simOperator: new StoredSimOperator(store.usage),
  clock: systemClock,
  logger,
});
