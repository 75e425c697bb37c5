import type { Logger } from "../../lib/logger.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { SimCredentialStore } from "../store/sim-credentials.ts";
import { logStoreError } from "../store/unavailable.ts";

/**
 * Logs which operators serve the SIMs: what people see of their SIMs depends on it.
 *
 * @param service where the service's own are
 */
export async function logOperators(
  service: Readonly<Partial<Record<SimType, { readonly url: string } | undefined>>>,
  credentials: Pick<SimCredentialStore, "listCredentials">,
  logger: Logger,
): Promise<void> {
  const none = "none: states are stored only, and usage is imported";
  const own = await credentials.listCredentials().catch((error: unknown) => {
    logStoreError(logger, error, {}, "cannot count the accounts with credentials of their own at SIM operators");
  });
  const count = (type: SimType): number => own?.filter((each) => each.type === type).length ?? 0;
  const accounts = { supersim: count("supersim"), prosim: count("prosim") };
  logger.info(
    {
      supersim: service.supersim?.url ?? none,
      prosim: service.prosim?.url ?? none,
      ...(accounts.supersim + accounts.prosim > 0 && { accounts_with_their_own: accounts }),
    },
    "SIM operators",
  );
}
