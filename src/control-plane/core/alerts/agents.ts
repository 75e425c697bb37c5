import { compareVersions, isVersion } from "../../../protocol/agents/version-order.ts";
import { ALERT_CONDITIONS } from "../../../protocol/alerts/condition.ts";
import type { ParsedRule } from "./evaluate.ts";

/** A release that the service has for devices. */
export interface KnownRelease {
  readonly version: string;
  /** Unix milliseconds. */
  readonly addedAtMs: number;
}

/** Versions of agents that alerts may be about. */
export type OutdatedVersions = ReadonlyMap<
  string,
  /** Since when the service has a newer release, in Unix milliseconds; `undefined`: it has none. */
  number | undefined
>;

/** Returns those of the versions that are older than a rule allows, or for which the service has had a newer release for long enough. */
export function findOutdated(
  versions: readonly string[],
  releases: readonly KnownRelease[],
  rules: readonly ParsedRule[],
  nowMs: number,
): OutdatedVersions {
  const { enabled, forS } = ALERT_CONDITIONS.agent_outdated;
  const set = rules.filter((rule) => rule.condition === "agent_outdated" && rule.enabled !== false);
  const oldest = set.flatMap(({ older_than: version }) => version ?? []);
  const ages = set.flatMap((rule) => (rule.older_than === undefined ? [rule.for_s ?? forS] : []));
  const shortestMs = 1000 * Math.min(...(enabled ? [forS] : []), ...ages);
  const outdated = new Map<string, number | undefined>();
  for (const version of versions) {
    if (!isVersion(version)) continue;
    const sinceMs = newerSince(version, releases);
    const isOld = sinceMs !== undefined && nowMs - sinceMs >= shortestMs;
    if (isOld || oldest.some((other) => compareVersions(version, other) < 0)) outdated.set(version, sinceMs);
  }
  return outdated;
}

/** Returns since when there is a newer release. */
function newerSince(version: string, releases: readonly KnownRelease[]): number | undefined {
  const newer = releases.filter((release) => compareVersions(release.version, version) > 0);
  return newer.length === 0 ? undefined : Math.min(...newer.map(({ addedAtMs }) => addedAtMs));
}
