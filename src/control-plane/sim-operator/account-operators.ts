import type { SimType } from "../../protocol/assets/sim.ts";
import { type Sealer, UnsealError } from "../sealing/sealer.ts";
import type { SimCredentialStore, StoredCredentials } from "../store/sim-credentials.ts";
import type { OperatorPool } from "./operator-pool.ts";
import { openAccess } from "./sealed-access.ts";
import type { SimOperator } from "./sim-operator.ts";
import type { SimOperators } from "./sim-operators.ts";
import { UnusableOperator } from "./unusable-operator.ts";

export interface AccountOperatorsOptions {
  readonly store: Pick<SimCredentialStore, "findCredentials" | "listTypes">;
  readonly sealer: Pick<Sealer, "open">;
  /** The operators of accounts without credentials of their own. */
  readonly others: SimOperators;
  readonly pool: OperatorPool;
}

interface Opened {
  readonly sealed: Uint8Array;
  readonly operator: SimOperator;
}

/**
 * The operators that accounts use: with their own credentials, and without with those of the service. Credentials that are changed
 * or removed while the service runs count from the next question on, in every instance.
 */
export class AccountOperators implements SimOperators {
  readonly #options: AccountOperatorsOptions;
  readonly #opened = new Map<string, Opened>();

  constructor(options: AccountOperatorsOptions) {
    this.#options = options;
  }

  async listServed(): Promise<readonly SimType[]> {
    const { store, others } = this.#options;
    return [...new Set([...(await others.listServed()), ...(await store.listTypes())])];
  }

  async find(accountId: string, type: SimType): Promise<SimOperator> {
    const { store, others } = this.#options;
    const key = `${accountId} ${type}`;
    const stored = await store.findCredentials(accountId, type);
    if (!stored) {
      this.#opened.delete(key);
      return others.find(accountId, type);
    }
    const opened = this.#opened.get(key);
    const isSame = opened !== undefined && Buffer.compare(opened.sealed, stored.sealed) === 0;
    // What could not be opened may be by now: the key file may have been put right.
    if (isSame && !(opened.operator instanceof UnusableOperator)) return opened.operator;
    const operator = this.#open(stored, isSame ? opened.operator : undefined);
    this.#opened.set(key, { sealed: stored.sealed, operator });
    return operator;
  }

  /** @param before what the same credentials gave before, which is kept while they cannot be opened */
  #open(stored: StoredCredentials, before: SimOperator | undefined): SimOperator {
    const { sealer, pool } = this.#options;
    try {
      const operator = pool.open(openAccess(sealer, stored), stored.type);
      if (operator) return operator;
      throw new Error(`no operator serves ${stored.type}`);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      return before ?? new UnusableOperator(stored.type, error);
    }
  }
}
