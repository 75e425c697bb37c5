import type { SimType } from "../../protocol/sim.ts";
import { credentialsPurpose, type Sealer, UnsealError } from "../sealing/sealer.ts";
import type { SimCredentialStore, StoredCredentials } from "../store/sim-credentials.ts";
import type { OperatorAccess } from "./operator-access.ts";
import type { SimOperator } from "./sim-operator.ts";
import type { SimOperators } from "./sim-operators.ts";
import { UnusableOperator } from "./unusable-operator.ts";

export interface AccountOperatorsOptions {
  readonly store: SimCredentialStore;
  readonly sealer: Pick<Sealer, "open">;
  /** The operators of accounts without credentials of their own. */
  readonly others: SimOperators;
  /** Opens the operator of this type with an account's credentials. */
  readonly open: (access: OperatorAccess, type: SimType) => SimOperator | undefined;
}

interface Opened {
  readonly sealed: Uint8Array;
  readonly plaintext: string;
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
    if (opened && Buffer.compare(opened.sealed, stored.sealed) === 0) return opened.operator;
    const { plaintext, operator } = this.#open(stored, opened);
    this.#opened.set(key, { sealed: stored.sealed, plaintext, operator });
    return operator;
  }

  /** The same operator stays where the same credentials were only sealed again: it has their token, and counts their calls. */
  #open(stored: StoredCredentials, before: Opened | undefined): Omit<Opened, "sealed"> {
    const { sealer, open } = this.#options;
    const { accountId, type } = stored;
    try {
      const plaintext = Buffer.from(sealer.open(stored, credentialsPurpose(accountId, type))).toString();
      if (before?.plaintext === plaintext) return before;
      const operator = open({ [type]: JSON.parse(plaintext) as unknown }, type);
      if (operator) return { plaintext, operator };
      throw new Error(`no operator serves ${type}`);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      return { plaintext: "", operator: new UnusableOperator(error) };
    }
  }
}
