import { join } from "node:path";
import type { Database } from "./database-config.ts";

/** The file of sealing keys: where the configuration says, or in the data directory. `undefined`: there is none. */
export function keyFileOf(
  config: { readonly secrets_key_file?: string | undefined },
  database: Database,
): string | undefined {
  return config.secrets_key_file ?? (database.kind === "sqlite" ? join(database.dataDir, "secrets.key") : undefined);
}
