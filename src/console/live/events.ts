import type { QueryClient, QueryKey } from "@tanstack/react-query";
import type { AccountEvent } from "../../protocol/assets/account-event.ts";
import { KEYS } from "../api/keys.ts";

/** At most four refetches of one kind in a second, the first at once. */
const MIN_REFETCH_INTERVAL_MS = 250;

const listeners = new Set<(event: AccountEvent) => void>();

/** Calls the listener with each event of the account, until the returned function is called. */
export function onAccountEvent(listener: (event: AccountEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns a handler of events that tells the listeners and fetches again what the event makes outdated. */
export function eventHandler(client: QueryClient): (event: AccountEvent) => void {
  const refetch = refetcher(client);
  return (event) => {
    for (const listener of listeners) listener(event);
    for (const key of outdatedBy(event)) refetch(key);
  };
}

/** Keys of the queries whose data an event makes outdated. */
export function outdatedBy(event: AccountEvent): readonly QueryKey[] {
  if (event.type === "user.changed") return [KEYS.users, KEYS.session, KEYS.audit];
  if (event.type === "alert.changed") return [KEYS.alerts];
  if (event.type === "key.changed") return [KEYS.apiKeys, KEYS.audit];
  if (event.type === "member.changed") return [KEYS.fleets, KEYS.overview, KEYS.assets, KEYS.asset(event.asset_id)];
  if (event.type === "fleet.changed") return [KEYS.fleets, KEYS.audit];
  if (event.type === "rollout.changed") return [KEYS.fleets, KEYS.rollout(event.rollout_id), KEYS.audit];
  if (event.type === "deployment.moved") return [KEYS.deployments(event.asset_id)];
  const ofAsset = [KEYS.overview, KEYS.assets, KEYS.asset(event.asset_id)];
  return changesSims(event) ? [...ofAsset, KEYS.sims, KEYS.simsOf(event.asset_id)] : ofAsset;
}

/** Whether SIMs may be shown otherwise. What devices and deployments do is no reason. */
function changesSims({ type }: AccountEvent): boolean {
  return type === "sim.changed" || type.startsWith("asset.");
}

function refetcher(client: QueryClient): (key: QueryKey) => void {
  const last = new Map<string, number>();
  const waiting = new Set<string>();
  return (key) => {
    const name = JSON.stringify(key);
    if (waiting.has(name)) return;
    const run = (): void => {
      waiting.delete(name);
      last.set(name, performance.now());
      void client.invalidateQueries({ queryKey: key });
    };
    const pauseMs = (last.get(name) ?? -Infinity) + MIN_REFETCH_INTERVAL_MS - performance.now();
    if (pauseMs <= 0) return run();
    waiting.add(name);
    setTimeout(run, pauseMs);
  };
}
