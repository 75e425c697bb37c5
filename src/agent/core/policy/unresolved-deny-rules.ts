import type { Policy } from "./device-policy.ts";
import { UNRESOLVED_REASONS } from "./mount-rules.ts";
import type { ResolvedPath } from "./resolved-path.ts";

/** An entry of `deny` that only applies as written, since the agent cannot resolve it. */
export interface UnresolvedDenyRule {
  /** As written in the configuration. */
  readonly entry: string;
  /** What is wrong, as a sentence. */
  readonly text: string;
  /** What the owner can do about it. */
  readonly next: string;
}

/** Returns the entries of `deny` that cannot be resolved. @param resolve resolves a path */
export async function findUnresolvedDenyRules(
  { mounts, devices }: Policy,
  resolve: (path: string) => Promise<ResolvedPath>,
): Promise<UnresolvedDenyRule[]> {
  const lists = [
    { key: "policy.mounts.deny", entries: mounts.deny },
    { key: "policy.devices.deny", entries: devices?.deny ?? [] },
  ];
  const all = lists.flatMap(({ key, entries }) => entries.map((entry) => ({ key, entry })));
  const found = await Promise.all(
    all.map(async ({ key, entry }) => {
      const { unresolved } = await resolve(entry);
      if (!unresolved) return [];
      const why = UNRESOLVED_REASONS[unresolved.reason] ?? unresolved.reason;
      const text = `${key} denies ${entry} only as written: ${unresolved.path} could not be examined (${why}).`;
      return [
        {
          entry,
          text,
          next: `If ${unresolved.path} is a link, or leads through one, list the path it leads to in ${key} too.`,
        },
      ];
    }),
  );
  return found.flat();
}
