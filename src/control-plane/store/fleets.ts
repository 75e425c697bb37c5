import type { Fleet, Revision } from "../core/fleets/fleet.ts";
import type { BeginFacts } from "../core/fleets/decide-begin.ts";
import type { SelectorTerm } from "../../protocol/fleets/selector.ts";
import type { Sealed } from "./asset-settings.ts";
import type { MemberStateName } from "../../protocol/fleets/fleet-member.ts";
import type { AuditEntry } from "./audit.ts";
import type { MemberRecord } from "./members.ts";
import type { Precondition } from "./precondition.ts";
import type { FactsTime } from "./rollouts.ts";

/** Maximum number of fleets of one account. */
export const MAX_FLEETS = 200;

/** Revisions of a fleet that are kept besides those in use. Older ones are removed when another is made. */
export const KEPT_REVISIONS = 100;

/** An app of an asset, and the name of the fleet that it belongs to. */
export interface AppOwner {
  readonly app: string;
  readonly fleet: string;
}

/** What a change of a fleet may change. */
export type FleetFields = Partial<
  Pick<Fleet, "name" | "selector" | "apps" | "strategy" | "onDrift" | "stableRevision" | "pausedReason">
>;

export type FleetCreation =
  | { readonly kind: "created" }
  | { readonly kind: "name_taken" }
  | { readonly kind: "too_many" };

/** An asset that a selector matches, in the order of their UUIDs. */
export interface Member {
  readonly assetUuid: string;
  readonly assetName: string;
  readonly type: string;
  readonly tags: ReadonlyMap<string, string>;
}

/** A member with what decides how soon a rollout draws it, and what it would wait for. */
export interface Candidate extends Member {
  readonly serialNumber: string;
  readonly facts: Omit<BeginFacts, "missingVariables">;
  readonly variableNames: ReadonlySet<string>;
}

/** A member with what the fleet knows of it. */
export interface MemberState extends Pick<Member, "assetUuid" | "assetName">, MemberRecord {
  readonly serialNumber: string;
  /** The revision that it was last seen running as a whole; `undefined`: none. */
  readonly revision: number | undefined;
  /** When its device last reported, Unix seconds; `undefined`: never. */
  readonly reportedAt: number | undefined;
  /** An app of the fleet that another one owns there; `undefined` if there is none. */
  readonly conflict: string | undefined;
}

/** A revision's content as it is stored. */
export interface StoredRevision extends Sealed {
  readonly revision: Revision;
}

/** A revision that is made, with the hashes of the uploads that its apps need: they stay as long as it does. */
export interface NewRevision extends StoredRevision {
  readonly uploads?: readonly string[];
}

export type RevisionCreation =
  | { readonly kind: "created"; readonly revision: Revision }
  /** The newest revision has the same content: none was made. */
  | { readonly kind: "unchanged"; readonly revision: Revision }
  | { readonly kind: "no_fleet" }
  /** It names an app that the fleet does not own. */
  | { readonly kind: "foreign_app"; readonly app: string };

/**
 * Fleets with their revisions. Removed with their account. Each change is stored with its entry of the audit log and an event
 * of the account (`fleet.changed`) in one transaction.
 */
export interface FleetStore {
  createFleet(fleet: Fleet, audit: AuditEntry): Promise<FleetCreation>;
  findFleet(accountId: string, name: string): Promise<Fleet | undefined>;
  findFleetById(id: string): Promise<Fleet | undefined>;
  /** Returns the fleets of an account in the order of their names, at most `limit`, after this name. */
  listFleets(accountId: string, limit: number, after?: string): Promise<readonly Fleet[]>;
  /**
   * Applies the fields that `decide` returns for the stored fleet, or none for `undefined`. `decide` must be pure, and may throw to
   * refuse the change. Returns the fleet afterwards; `undefined` if there is none, `"name_taken"` if another one has the new name.
   */
  updateFleet(
    id: string,
    decide: (fleet: Fleet) => FleetFields | undefined,
    audit?: AuditEntry,
  ): Promise<Fleet | "name_taken" | undefined>;
  /** Removes the fleet with its revisions, rollouts and ownership; apps on devices stay. False if there is none. */
  removeFleet(id: string, audit: AuditEntry, precondition?: Precondition<Fleet>): Promise<boolean>;

  /** Makes the next revision from this content. `toRevision` gives it its record, given its number; it must be pure. */
  createRevision(
    fleetId: string,
    content: Pick<Revision, "hash" | "apps">,
    toRevision: (number: number) => NewRevision,
    audit: AuditEntry,
  ): Promise<RevisionCreation>;
  findRevision(fleetId: string, number: number): Promise<StoredRevision | undefined>;
  /** Returns the records of revisions, newest first, at most `limit`, below this number. */
  listRevisions(fleetId: string, limit: number, below?: number): Promise<readonly Revision[]>;
  listRevisionsNotSealedBy(keyId: string, limit: number): Promise<readonly StoredRevision[]>;
  resealRevision(fleetId: string, number: number, before: Uint8Array, after: Sealed): Promise<boolean>;

  /** Returns the assets that the selector matches now, at most `limit`, after this UUID. */
  listMatching(
    accountId: string,
    selector: readonly SelectorTerm[],
    limit: number,
    after?: string,
  ): Promise<readonly Member[]>;
  /** Returns the same for a rollout of the fleet, with facts about each. */
  listCandidates(
    fleet: Fleet,
    selector: readonly SelectorTerm[],
    time: FactsTime,
    limit: number,
    after?: string,
  ): Promise<readonly Candidate[]>;
  /** Returns how many assets the selector matches now. */
  countMatching(accountId: string, selector: readonly SelectorTerm[]): Promise<number>;
  /**
   * Returns the members of the fleet, each with how it is, at most `limit`, after this UUID; with `states` only those in one of them.
   * One that was not judged yet counts as `waiting`.
   */
  listMembers(
    fleet: Fleet,
    selector: readonly SelectorTerm[],
    limit: number,
    after?: string,
    states?: readonly MemberStateName[],
  ): Promise<readonly MemberState[]>;
  /** Returns the revisions that these assets were last seen running as a whole. */
  findMemberRevisions(fleetId: string, assetUuids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Records that the whole revision was seen running on the asset; `undefined`: none is known to. */
  recordMemberRevision(fleetId: string, assetUuid: string, revision: number | undefined): Promise<void>;

  /** Makes the fleet the owner of those of these apps on the asset that have none. Returns the other owners. */
  claimApps(fleetId: string, assetUuid: string, apps: readonly string[]): Promise<readonly AppOwner[]>;
  /** Returns which of these apps on the asset other fleets own. */
  findOtherOwners(fleetId: string, assetUuid: string, apps: readonly string[]): Promise<readonly AppOwner[]>;
  /** Ends the fleet's ownership on assets that its selector does not match any more. Returns those assets. */
  releaseLeavers(fleet: Fleet, selector: readonly SelectorTerm[], limit: number): Promise<readonly string[]>;
  /** Ends the fleet's ownership of apps that are not in its list any more, on at most `limit` assets. Returns those assets. */
  releaseDroppedApps(fleetId: string, limit: number): Promise<readonly string[]>;
  /** Returns on how many assets apps belong to the fleet. */
  countOwned(fleetId: string): Promise<number>;
  /** Returns who owns each app of the asset that has an owner. */
  listOwners(assetUuid: string): Promise<readonly AppOwner[]>;
}
