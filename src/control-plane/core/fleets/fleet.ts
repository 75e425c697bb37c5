import type { OnDrift } from "../../../protocol/fleets/fleet.ts";
import type { RolloutStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import type { AppReport } from "../../../protocol/apps/app-report.ts";
import type { AppDependency, AppliedApp } from "../../../protocol/apps/apply.ts";

/** One set of apps that is brought to every asset its selector matches. Times are Unix milliseconds. */
export interface Fleet {
  readonly id: string;
  readonly accountId: string;
  /** Unique within the account. */
  readonly name: string;
  /** In the canonical form of `formatSelector`. */
  readonly selector: string;
  /** Names of the apps it owns on its members. Revisions name no other apps. */
  readonly apps: readonly string[];
  readonly strategy: RolloutStrategy;
  /** What happens to members that were changed other than by the fleet: they are shown, or put right too. */
  readonly onDrift: OnDrift;
  /** What every member should run, and what a rollout goes back to; `undefined` before the first rollout has succeeded. */
  readonly stableRevision: number | undefined;
  /** Number of its newest revision; 0 before the first. */
  readonly lastRevision: number;
  /** Why nothing of it goes out until it is resumed; `undefined`: it does. */
  readonly pausedReason: string | undefined;
  readonly createdAtMs: number;
  /** 1 at creation, incremented with each change. */
  readonly version: number;
}

/** Who made or approved something, with its name at that time. */
export interface Person {
  readonly kind: "user" | "key" | "command_line" | "service";
  readonly id: string;
  readonly name?: string | undefined;
  /** Of a key: the user, or the first key, that answers for it. Two that have the same are one person. */
  readonly origin?: string;
}

/** Whether both are the same person, with whatever credential. */
export function isSamePerson(one: Person, other: Person): boolean {
  return (one.origin ?? one.id) === (other.origin ?? other.id);
}

/** An app of a revision, for people and for comparisons: without values of its environment. */
export interface RevisionApp {
  readonly name: string;
  /** With its digest; `undefined` if the revision says `absent`. */
  readonly image: string | undefined;
  /** The reference as it was written, with its tag. */
  readonly shownImage: string | undefined;
}

/** An immutable revision of a fleet. Its content is stored byte for byte, and sealed. */
export interface Revision {
  readonly fleetId: string;
  /** From 1, without gaps. */
  readonly number: number;
  readonly apps: readonly RevisionApp[];
  /** The version that the agent must have at least; `undefined`: any. */
  readonly agentVersion: string | undefined;
  /** SHA-256 of its content, in hexadecimal digits. */
  readonly hash: string;
  readonly comment: string | undefined;
  readonly createdAtMs: number;
  readonly createdBy: Person;
}

/** What a device says of the fleet that an app is from. */
interface FleetMark {
  readonly name: string;
  readonly revision: number;
  /** Whether it was changed since, on the device or by a deployment that is not the fleet's. */
  readonly isChanged: boolean;
}

/** Returns what a report says of the app's fleet; `undefined` if it says nothing. */
export function fleetMark({ fleet }: AppReport): FleetMark | undefined {
  return fleet && { name: fleet.name, revision: fleet.revision, isChanged: fleet.is_changed };
}

/**
 * Returns the highest revision that the device says it has apps of, if the fleet has no such revision: the service was restored
 * from an old backup. Otherwise `undefined`.
 */
export function unknownRevision(
  fleet: { readonly name: string; readonly lastRevision: number },
  apps: readonly AppReport[],
): number | undefined {
  const reported = apps.flatMap((app) => {
    const mark = fleetMark(app);
    return mark?.name === fleet.name ? [mark.revision] : [];
  });
  const highest = Math.max(0, ...reported);
  return highest > fleet.lastRevision ? highest : undefined;
}

/** An app of a revision: its whole specification with an image by digest, or that it is not to be there. */
export type RevisionEntry =
  | { readonly app: AppliedApp; readonly depends_on: readonly AppDependency[] }
  | { readonly absent: string };

/** The release of the agent that a revision asks for. A device whose agent is as new, or newer, is left as it is. */
export interface RequiredAgent {
  readonly version: string;
  /** Where devices find it at the service: its repository, and the digest of its index. */
  readonly served: { readonly repository: string; readonly digest: string };
}

/** What a revision says. Its environments may name variables of assets. */
export interface RevisionContent {
  readonly apps: readonly RevisionEntry[];
  readonly agent?: RequiredAgent | undefined;
}

/** What an asset is to run, before variables are put in. */
export interface Goal {
  /** Name of the fleet. */
  readonly fleet: string;
  /** `undefined`: no revision, all apps are absent. */
  readonly revision: number | undefined;
  readonly apps: readonly RevisionEntry[];
  readonly agent?: RequiredAgent | undefined;
}

/** Returns the name of an app of a revision. */
export function nameOf(entry: RevisionEntry): string {
  return "absent" in entry ? entry.absent : entry.app.name;
}

/**
 * Returns what the fleet's revision says of the apps that the fleet owns now. A revision may be older than the fleet's list of apps:
 * what another fleet may own by now is neither changed nor judged.
 */
export function ownedContent({ apps: owned }: Pick<Fleet, "apps">, { apps, agent }: RevisionContent): RevisionContent {
  const names = new Set(owned);
  return {
    agent,
    apps: apps.filter((entry) => names.has(nameOf(entry))).map((entry) => withDependenciesIn(names, entry)),
  };
}

function withDependenciesIn(names: ReadonlySet<string>, entry: RevisionEntry): RevisionEntry {
  if ("absent" in entry) return entry;
  return { ...entry, depends_on: entry.depends_on.filter(({ app }) => names.has(app)) };
}

/**
 * Returns what a member of the fleet is to run.
 *
 * @param content of the revision; `undefined`: no revision, which removes every app that `other` has
 * @param other the revision that may be there now: apps that only it has are removed when going back, and stay otherwise
 */
export function goalOf(
  fleet: string,
  revision: number | undefined,
  content: RevisionContent | undefined,
  other?: RevisionContent,
): Goal {
  const apps = content?.apps ?? [];
  const known = new Set(apps.map(nameOf));
  const removed = (other?.apps ?? []).map(nameOf).filter((name) => !known.has(name));
  return { fleet, revision, agent: content?.agent, apps: [...apps, ...removed.map((absent) => ({ absent }))] };
}

/** Whether apps have to be removed to reach the goal. */
export function removesApps({ apps }: Pick<Goal, "apps">): boolean {
  return apps.some((entry) => "absent" in entry);
}
