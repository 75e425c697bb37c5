import { hash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { EmnifyOperator } from "./emnify/emnify-operator.ts";
import type { OperatorObserver } from "./http/operator-http.ts";
import type { EmnifyAccess, OperatorAccess, SuperSimAccess } from "./operator-access.ts";
import type { SimOperator } from "./sim-operator.ts";
import { SuperSimOperator } from "./super-sim/super-sim-operator.ts";

/**
 * Opens operators: one for equal credentials, of the service and of accounts alike. What bounds the calls to an operator, its token and its
 * pauses are then those of the account there, and not of each account here.
 */
export class OperatorPool {
  readonly #clock: Clock;
  readonly #observer: OperatorObserver | undefined;
  /** By a hash of the credentials, as long as they are in use. */
  readonly #opened = new Map<string, WeakRef<SimOperator>>();

  constructor(clock: Clock, observer?: OperatorObserver) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Returns the operator of this type; `undefined` if there is no access to one. */
  open(access: OperatorAccess, type: SimType): SimOperator | undefined {
    const identity = identify(access, type);
    if (identity === undefined) return undefined;
    const known = this.#opened.get(identity)?.deref();
    if (known) return known;
    for (const [each, operator] of this.#opened) if (!operator.deref()) this.#opened.delete(each);
    const operator = this.#create(access, type);
    if (operator) this.#opened.set(identity, new WeakRef(operator));
    return operator;
  }

  #create({ supersim, prosim }: OperatorAccess, type: SimType): SimOperator | undefined {
    const shared = { clock: this.#clock, observer: this.#observer };
    if (type === "prosim") return prosim && new EmnifyOperator({ ...prosim, ...shared });
    return supersim && new SuperSimOperator({ ...supersim, ...shared });
  }
}

function secretsOf(access: SuperSimAccess | EmnifyAccess): readonly string[] {
  if ("applicationToken" in access) return [access.applicationToken];
  const { credentials } = access;
  if ("accountSid" in credentials) return [credentials.accountSid, credentials.authToken];
  return [credentials.clientId, credentials.clientSecret, credentials.tokenUrl];
}

/** A hash, so that no second copy of the secret is kept. */
function identify({ supersim, prosim }: OperatorAccess, type: SimType): string | undefined {
  const access = type === "prosim" ? prosim : supersim;
  if (!access) return undefined;
  return hash("sha256", JSON.stringify([type, new URL(access.url).href, ...secretsOf(access)]));
}
