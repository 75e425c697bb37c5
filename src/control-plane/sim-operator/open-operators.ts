import type { Clock } from "../../lib/clock.ts";
import type { SimType } from "../../protocol/sim.ts";
import { readSecretFile, secretFileOf, type SimOperatorSettings } from "../sim-operators-config.ts";
import type { UsageStore } from "../store/usage.ts";
import { EmnifyOperator } from "./emnify/emnify-operator.ts";
import type { SimOperator } from "./sim-operator.ts";
import type { SimOperators } from "./sim-operators.ts";
import { SIM_TYPES } from "./sim-types.ts";
import { StoredSimOperator } from "./stored-sim-operator.ts";
import { SuperSimOperator } from "./super-sim/super-sim-operator.ts";

/** Opens the operators that the configuration names; what it does not name is stored only. */
export function openOperators(settings: SimOperatorSettings, usage: UsageStore, clock: Clock): SimOperators {
  const stored = new StoredSimOperator(usage);
  const operators: Readonly<Record<SimType, SimOperator>> = {
    supersim: openOperator(settings, "supersim", clock) ?? stored,
    prosim: openOperator(settings, "prosim", clock) ?? stored,
  };
  const served = SIM_TYPES.filter((type) => operators[type] !== stored);
  return { served, find: async (_accountId, type) => operators[type] };
}

/** Opens the operator that the configuration names for this type; `undefined` if it names none. */
export function openOperator(settings: SimOperatorSettings, type: SimType, clock: Clock): SimOperator | undefined {
  const file = secretFileOf(settings, type);
  if (file === undefined) return undefined;
  const secret = readSecretFile(file);
  const { supersim, prosim } = settings;
  if (type === "prosim") return prosim && new EmnifyOperator({ applicationToken: secret, url: prosim.url, clock });
  if (!supersim) return undefined;
  const { url, client_id: clientId, account_sid: accountSid, token_url: tokenUrl } = supersim;
  if (accountSid !== undefined)
    return new SuperSimOperator({ url, credentials: { accountSid, authToken: secret }, clock });
  return new SuperSimOperator({
    url,
    credentials: { clientId: clientId ?? "", clientSecret: secret, tokenUrl },
    clock,
  });
}
