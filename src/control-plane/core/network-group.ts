import { EdgeError } from "../../protocol/errors/errors.ts";
import { DEFAULT_NETWORK_GROUPS } from "../../protocol/assets/sim.ts";

/** Whether the name is one of the groups that every account has. */
export function isDefaultGroup(name: string): boolean {
  return DEFAULT_NETWORK_GROUPS.some((group) => group === name);
}

/** Throws `UnknownNetworkGroup` unless the name is a default group or one of the account's own. */
export function requireKnownGroup(name: string, ownGroups: readonly string[]): void {
  if (isDefaultGroup(name) || ownGroups.includes(name)) return;
  throw new EdgeError("UnknownNetworkGroup", `There is no network group "${name}" in this account.`, {
    network_group: name,
    default_groups: [...DEFAULT_NETWORK_GROUPS],
  });
}
