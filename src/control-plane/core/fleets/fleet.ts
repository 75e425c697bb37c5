import type { OnDrift } from "../../../protocol/fleet.ts";
import type { RolloutStrategy } from "../../../protocol/rollout-strategy.ts";

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
  /** SHA-256 of its content, in hexadecimal digits. */
  readonly hash: string;
  readonly comment: string | undefined;
  readonly createdAtMs: number;
  readonly createdBy: Person;
}
