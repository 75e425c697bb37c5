import type { StoreOutageLog } from "./outage-log.ts";
import type { Store } from "./store.ts";
import { StoreUnavailableError } from "./unavailable.ts";

type Method = (...parameters: unknown[]) => unknown;

/** The same store, whose failures and successes are noted in the log of outages. */
export function watchedStore(store: Store, log: StoreOutageLog): Store {
  const watched: Record<string, unknown> = {};
  for (const name of namesOf(store)) {
    const value: unknown = Reflect.get(store, name);
    if (typeof value === "function") watched[name] = watchCall(store, value as Method, log);
    else watched[name] = typeof value === "object" && value !== null ? watchCalls(value, log) : value;
  }
  return { ...(watched as unknown as Store), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

function watchCalls(object: object, log: StoreOutageLog): object {
  const watched: Record<string, unknown> = {};
  for (const name of namesOf(object)) {
    const value: unknown = Reflect.get(object, name);
    watched[name] = typeof value === "function" ? watchCall(object, value as Method, log) : value;
  }
  return watched;
}

/** The properties of an object, of its class and of the classes above it. */
function namesOf(object: object): Set<string> {
  const names = new Set<string>();
  for (let owner: object = object; owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object) {
    for (const name of Object.getOwnPropertyNames(owner)) if (name !== "constructor") names.add(name);
  }
  return names;
}

function watchCall(owner: object, method: Method, log: StoreOutageLog): Method {
  return (...parameters) => {
    const result = method.apply(owner, parameters);
    return result instanceof Promise ? watchResult(result, log) : result;
  };
}

async function watchResult(call: Promise<unknown>, log: StoreOutageLog): Promise<unknown> {
  try {
    const result = await call;
    log.succeeded();
    return result;
  } catch (error) {
    if (error instanceof StoreUnavailableError) log.failed(error);
    else log.succeeded();
    throw error;
  }
}
