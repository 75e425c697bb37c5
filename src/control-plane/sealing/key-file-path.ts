import { join } from "node:path";
import type { Config } from "../config.ts";
import type { Database } from "../database-config.ts";

/** The file of sealing keys: where the configuration says, or in the data directory. `undefined`: there is none. */
export function keyFileOf(config: Config, database: Database): string | undefined {
  return config.secrets_key_file ?? (database.kind === "sqlite" ? join(database.dataDir, "secrets.key") : undefined);
}
