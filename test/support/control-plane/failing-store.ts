import { StoreUnavailableError } from "../../../src/control-plane/store/unavailable.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";

/**
 * What happens to a call: it is carried out, it does not reach the database, or it is carried out and its result does not
 * come back.
 */
export type Fate = "done" | "refused" | "result_lost";

/** The same store behind a database that can be lost. */
export interface FailingStore {
  readonly store: Store;
  /** Decides on each call, by the name of its part and method, such as `deployments.updateDeployment`. */
  fate: (call: string) => Fate;
  /** Number of calls that have failed. */
  readonly failures: number;
  /** Number of calls that are under way. */
  readonly underWay: number;
}

/** Decorates every call of every part of the store, none left out. */
export function failingStore(inner: Store): FailingStore {
  const failing = {
    fate: (): Fate => "done",
    failures: 0,
    underWay: 0,
    store: decorate(inner, "", async (call, work) => {
      failing.underWay++;
      return decide(call, work).finally(() => failing.underWay--);
    }) as Store,
  };
  const decide = async (call: string, work: () => Promise<unknown>): Promise<unknown> => {
    const fate = (failing as FailingStore).fate(call);
    if (fate === "done") return work();
    failing.failures++;
    // A change may have been refused for a reason of its own. Nobody hears of it.
    if (fate === "result_lost") await work().catch(() => undefined);
    throw new StoreUnavailableError(`${call}: ${fate}`);
  };
  return failing;
}

type Decide = (call: string, work: () => Promise<unknown>) => Promise<unknown>;

function decorate(object: object, prefix: string, decide: Decide): object {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof name === "symbol") return typeof value === "function" ? value.bind(target) : value;
      const call = `${prefix}${name}`;
      // Asks the database for nothing.
      if (call === ("onAccountEvents" satisfies keyof Store)) return (value as () => unknown).bind(target);
      if (typeof value === "function") {
        return (...parameters: unknown[]) => decide(call, async () => value.apply(target, parameters) as unknown);
      }
      return typeof value === "object" && value !== null ? decorate(value, `${call}.`, decide) : value;
    },
  });
}
