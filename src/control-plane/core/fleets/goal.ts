import type { AppliedApp, AppDependency } from "../../../protocol/apply.ts";
import type { Fleet } from "./fleet.ts";

/** An app of a revision: its whole specification with an image by digest, or that it is not to be there. */
export type RevisionEntry =
  | { readonly app: AppliedApp; readonly depends_on: readonly AppDependency[] }
  | { readonly absent: string };

/** What a revision says. Its environments may name variables of assets. */
export interface RevisionContent {
  readonly apps: readonly RevisionEntry[];
}

/** What an asset is to run, before variables are put in. */
export interface Goal {
  /** Name of the fleet. */
  readonly fleet: string;
  /** `undefined`: no revision, all apps are absent. */
  readonly revision: number | undefined;
  readonly apps: readonly RevisionEntry[];
}

/** Returns the name of an app of a revision. */
export function nameOf(entry: RevisionEntry): string {
  return "absent" in entry ? entry.absent : entry.app.name;
}

/**
 * Returns what the fleet's revision says of the apps that the fleet owns now. A revision may be older than the fleet's list of apps:
 * what another fleet may own by now is neither changed nor judged.
 */
export function ownedContent({ apps: owned }: Pick<Fleet, "apps">, { apps }: RevisionContent): RevisionContent {
  const names = new Set(owned);
  return { apps: apps.filter((entry) => names.has(nameOf(entry))).map((entry) => withDependenciesIn(names, entry)) };
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
  return { fleet, revision, apps: [...apps, ...removed.map((absent) => ({ absent }))] };
}

/** Whether apps have to be removed to reach the goal. */
export function removesApps({ apps }: Pick<Goal, "apps">): boolean {
  return apps.some((entry) => "absent" in entry);
}
