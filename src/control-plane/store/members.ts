import type { MemberStateName } from "../../protocol/fleets/fleet-member.ts";
import type { ReportFacts } from "../core/fleets/target-decision.ts";
import type { Judgement, MemberFacts, MemberTarget } from "../core/fleets/judge-member.ts";
import type { Repairs } from "../core/fleets/upkeep.ts";
import type { FactsTime } from "./rollouts.ts";

/** What is stored of a member of a fleet. */
export interface MemberRecord {
  /** `undefined`: it was not judged yet. */
  readonly judgement: Judgement | undefined;
  readonly repairs: Repairs;
  /** When it must be judged again even if nothing happens, Unix milliseconds; `undefined`: only when something happens. */
  readonly dueMs: number | undefined;
}

/** An asset with what the state of its memberships follows from, as it was in one read. */
export interface AssetFacts extends Pick<
  MemberFacts,
  "isConnected" | "lastSeenAtMs" | "agentVersion" | "heldUntilMs" | "holdReason" | "unacceptedSinceMs" | "variableNames"
> {
  readonly assetUuid: string;
  readonly type: string;
  readonly tags: ReadonlyMap<string, string>;
  /** Parses the last report of its device, which takes time; `undefined` if it has sent none. */
  readonly readReport: () => ReportFacts | undefined;
  /** Which fleet owns which of its apps. */
  readonly owners: readonly { readonly app: string; readonly fleetId: string; readonly fleet: string }[];
  /** Its targets in rollouts and upkeeps that a coordinator looks after, the oldest rollout first. */
  readonly targets: readonly (MemberTarget & { readonly fleetId: string })[];
  /** What is stored of it as a member, by the id of the fleet, with the revision that it was last seen running as a whole. */
  readonly members: ReadonlyMap<string, MemberRecord & { readonly revision: number | undefined }>;
  /** The bits of `MEMBER_BITS` that are stored. */
  readonly attentionBits: number;
}

/** A change of what is stored of a member. It is not made if its state is another one by now. */
export interface MemberChange {
  readonly fleetId: string;
  readonly assetUuid: string;
  /** `undefined`: nothing is stored. */
  readonly before: MemberRecord | undefined;
  /** `undefined`: it is no member any more. */
  readonly after: MemberRecord | undefined;
  /** Name of the fleet; `undefined`: the fleet is not of the account. */
  readonly fleet: string;
}

/** Bits of `MEMBER_BITS` that an asset has from now on. */
export type AttentionChanges = ReadonlyMap<string, number>;

/** How the members of fleets are, as `judgeMember` has judged it. Removed with their fleet and their asset. */
export interface MemberStore {
  /** Returns these assets of the account with what they are judged by. */
  readAssets(time: FactsTime, accountId: string, assetUuids: readonly string[]): Promise<readonly AssetFacts[]>;
  /** The same for assets in the order of their UUIDs, at most `limit`, after this one. */
  listAssets(time: FactsTime, accountId: string, limit: number, after?: string): Promise<readonly AssetFacts[]>;
  /**
   * Applies changes in one transaction, with events of the account (`member.changed`) for those that lead to `drifted`, `missing` or
   * `stopped_by_hand`, or away from it. Returns how many changes of members were made.
   *
   * @param at Unix seconds
   */
  changeMembers(
    accountId: string,
    changes: readonly MemberChange[],
    attention: AttentionChanges,
    at: number,
  ): Promise<number>;
  /** Counts the members that were judged, by state. */
  countStates(fleetId: string): Promise<ReadonlyMap<MemberStateName, number>>;
  /** The same for all fleets of all accounts. */
  countAllStates(): Promise<ReadonlyMap<MemberStateName, number>>;
  /** Returns assets of the account that are due for another judgement, at most `limit`. */
  listDue(accountId: string, nowMs: number, limit: number): Promise<readonly string[]>;
  /** Returns when the next one is due, Unix milliseconds; `undefined`: none is. */
  nextDue(accountId: string): Promise<number | undefined>;
  /** Returns the accounts that have fleets. */
  listAccounts(): Promise<readonly string[]>;
}
