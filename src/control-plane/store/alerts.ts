import type {
  AlertCondition,
  AlertSeverity,
  AlertSubjectKind,
  HealthCondition,
  ServiceCondition,
} from "../../protocol/alerts/condition.ts";
import type { AlertRouteBody, AlertRule } from "../../protocol/alerts/settings.ts";
import type { SelectorTerm } from "../../protocol/fleets/selector.ts";
import type { AlertChange, AlertSubject, Observation, OpenAlert } from "../core/alerts/alert.ts";
import type { OutdatedVersions } from "../core/alerts/agents.ts";
import type { AlertGroup, Assignment, GroupCounts, GroupStep } from "../core/alerts/grouping.ts";
import type { DeliveryStep } from "../core/alerts/delivery.ts";
import type { DeviceHabits, DeviceSample, Outage } from "../core/alerts/habits.ts";
import type { Sealed } from "./asset-settings.ts";
import type { AuditEntry } from "./audit.ts";

/** How many alerts that are resolved an account keeps; older ones are removed. */
export const MAX_RESOLVED_ALERTS = 10_000;
/** As many alerts are looked at for one page of a list. */
export const MAX_SCANNED_ALERTS = 2_000;
/** As many versions of agents of an account are looked at: devices say what they like. */
export const MAX_AGENT_VERSIONS = 200;
/** Enrolment codes that are told of at a time: labels for a lorry of devices may expire together. */
export const MAX_OBSERVED_CODES = 5_000;
/** Maximum number of silences of an account that have not ended. */
export const MAX_SILENCES = 200;
/** Messages to one channel in an hour: what is more waits. */
export const MAX_MESSAGES_PER_HOUR = 120;
/** Messages that wait for one channel: what is more fails. */
export const MAX_WAITING_MESSAGES = 1_000;
/** How long what was sent is listed. */
export const DELIVERY_RETENTION_MS = 30 * 86_400_000;

/** An alert as it is on record. Times are Unix milliseconds. */
export interface StoredAlert {
  readonly id: string;
  readonly condition: AlertCondition;
  readonly subject: { readonly kind: AlertSubjectKind; readonly id: string; readonly name: string };
  readonly severity: AlertSeverity;
  readonly state: "firing" | "resolved";
  readonly sinceMs: number;
  readonly firedAtMs: number;
  readonly resolvedAtMs: number | undefined;
  readonly usualPauseMs: number | undefined;
  readonly acknowledgedAtMs: number | undefined;
  readonly acknowledgedBy: string | undefined;
  /** In order. */
  readonly groupIds: readonly string[];
}

export interface AlertFilter {
  readonly state: StoredAlert["state"];
  readonly condition?: AlertCondition | undefined;
  readonly severity?: AlertSeverity | undefined;
  readonly subjectId?: string | undefined;
  readonly groupId?: string | undefined;
  /** Only those about assets that match it now, unless it has no terms. */
  readonly selector?: readonly SelectorTerm[] | undefined;
}

/** A place in a list of alerts, newest first. */
export interface AlertCursor {
  readonly firedAtMs: number;
  readonly id: string;
}

export interface AlertPage {
  readonly alerts: readonly StoredAlert[];
  /** Where the next page begins; `undefined` on the last one. */
  readonly next: AlertCursor | undefined;
}

/** What the conditions of an account are looked up for. */
export interface AlertTime {
  readonly nowMs: number;
  /** Devices that were seen since are not gone for long enough to matter. Unix milliseconds. */
  readonly awayBeforeMs: number;
  readonly outage: Outage;
  /** By condition: what devices measure is looked at beyond these limits. */
  readonly limits: ReadonlyMap<HealthCondition, number>;
  readonly outdated: OutdatedVersions;
}

/** A device whose number of sessions or whose absence has changed since it was looked at. */
export interface ChangedDevice {
  readonly assetUuid: string;
  readonly sample: DeviceSample;
  readonly habits: DeviceHabits;
}

/** A group that may have something to say. */
export interface DueGroup {
  readonly accountId: string;
  readonly group: AlertGroup;
  readonly counts: GroupCounts;
}

/** An alert of a group, as messages tell of it. */
export interface ToldAlert extends Pick<StoredAlert, "id" | "state" | "sinceMs" | "firedAtMs" | "resolvedAtMs"> {
  /** Without a serial number if it is no asset, or was removed. */
  readonly subject: StoredAlert["subject"] & { readonly serialNumber: string | undefined };
  /** What failed, such as `kiosk-ui, CrashLoopBackOff`: of `deployment_failed`, where the service has a record of it. */
  readonly cause: string | undefined;
}

/** An alert of a group. */
export interface GroupMember {
  readonly id: string;
  readonly subject: AlertSubject;
}

/** Something that is the matter with the service itself. Times are Unix milliseconds. */
export interface ServiceTrouble {
  /** Whom it is told. */
  readonly accountId: string;
  readonly condition: ServiceCondition;
  readonly subject: { readonly id: string; readonly name: string };
  /** Since when it is so; an earlier time that is on record stays, unless the trouble was over meanwhile. */
  readonly sinceMs: number;
  /** It is over then, unless it is noted again. */
  readonly untilMs: number;
}

export interface RoundState extends Outage {
  readonly lastAtMs: number;
}

/** Alerts, as they are judged. */
export interface AlertStore {
  /**
   * Returns accounts in which there may be something to tell, in the order of their ids.
   *
   * @param newest version of the newest release of the agent; `undefined`: the service has none
   */
  listAccounts(nowMs: number, newest: string | undefined, after: string, limit: number): Promise<readonly string[]>;
  /** Returns versions of agents of the account, `MAX_AGENT_VERSIONS` at most. */
  listAgentVersions(accountId: string): Promise<readonly string[]>;
  readRound(): Promise<RoundState>;
  saveRound(round: RoundState): Promise<void>;
  /** Returns devices to learn from, in the order of their UUIDs. */
  listChangedDevices(after: string, limit: number): Promise<readonly ChangedDevice[]>;
  saveHabits(habits: readonly { readonly assetUuid: string; readonly habits: DeviceHabits }[]): Promise<void>;
  /** Returns the conditions of assets that hold, in the order of their UUIDs, for at most `limit` assets, and the last of those. */
  observeAssets(
    accountId: string,
    time: AlertTime,
    after: string,
    limit: number,
  ): Promise<{ readonly observed: readonly Observation[]; readonly last: string | undefined }>;
  /** Returns the other conditions that hold. */
  observeOthers(accountId: string, nowMs: number): Promise<readonly Observation[]>;
  /** Returns the assets of an account whose devices are connected at an instance, in the order of their UUIDs. */
  listConnected(accountId: string, instanceId: string, after: string, limit: number): Promise<readonly AlertSubject[]>;
  /** Stores a trouble; nothing if there is no such account. */
  noteTrouble(trouble: ServiceTrouble): Promise<void>;
  /** Has a trouble that is not over at `sinceMs` last until `untilMs`; nothing if there is none. */
  keepTrouble(trouble: ServiceTrouble): Promise<void>;
  endTrouble(trouble: Pick<ServiceTrouble, "accountId" | "condition" | "subject">): Promise<void>;
  /** Returns at most `limit` open alerts, in the order of their conditions and subjects, those behind `after`. */
  listOpen(
    accountId: string,
    limit: number,
    after?: Pick<OpenAlert, "condition" | "subject">,
  ): Promise<readonly OpenAlert[]>;
  /** Stores changes, in one transaction. New alerts take the ids in order. */
  change(accountId: string, changes: readonly AlertChange[], ids: readonly string[], nowMs: number): Promise<void>;
  /** Removes what is resolved, beyond the newest `MAX_RESOLVED_ALERTS` of the account. */
  removeSurplus(accountId: string): Promise<void>;
  /** Looks at `MAX_SCANNED_ALERTS` alerts at most: a page may have fewer than `limit`, and be followed by others. */
  list(accountId: string, filter: AlertFilter, limit: number, after?: AlertCursor): Promise<AlertPage>;
  /** Returns an alert that fires or is over. */
  find(accountId: string, id: string): Promise<StoredAlert | undefined>;
  /** Counts the alerts of the account that fire, and those of them that no person has acknowledged. */
  countFiring(accountId: string): Promise<{ readonly firing: number; readonly unacknowledged: number }>;
  /** Returns how many firing alerts were not acknowledged before. The entry is stored if there are any. */
  acknowledge(
    accountId: string,
    of: { readonly ids: readonly string[] } | { readonly groupId: string },
    nowMs: number,
    by: string,
    audit: AuditEntry,
  ): Promise<number>;
}

/** A silence, until it ends. */
export interface Silence {
  readonly id: string;
  readonly accountId: string;
  readonly conditions: readonly AlertCondition[] | undefined;
  readonly selector: string;
  /** The only asset that it is about, with its name now; `undefined`: those that the selector matches. */
  readonly asset: { readonly uuid: string; readonly name: string } | undefined;
  readonly reason: string;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly endsAtMs: number;
}

/** A channel as it is stored. */
export interface StoredChannel extends Sealed {
  readonly accountId: string;
  readonly name: string;
  readonly kind: string;
  /** What may be shown of it, JSON-safe. */
  readonly shown: Readonly<Record<string, unknown>>;
  readonly changedAtMs: number;
  readonly failingSinceMs: number | undefined;
  readonly disabledAtMs: number | undefined;
}

export interface NamedRoute {
  readonly name: string;
  readonly body: AlertRouteBody;
}

/** Everything that an account says about alerts. Routes and channels are in the order of their names. */
export interface AlertSettings {
  readonly rules: readonly AlertRule[];
  readonly routes: readonly NamedRoute[];
  readonly channels: readonly StoredChannel[];
}

export interface SettingsChange extends AlertSettings {
  readonly audit: AuditEntry;
}

export type Stored = "stored" | "too_many";

/** Whom an account has told what, and what it does not want to hear. */
export interface AlertSettingsStore {
  readRules(accountId: string): Promise<readonly AlertRule[]>;
  /** Returns the rules about what devices measure of accounts that have any, in the order of their ids. */
  listLevelRules(
    after: string,
    limit: number,
  ): Promise<readonly { readonly accountId: string; readonly rules: readonly AlertRule[] }[]>;
  listRoutes(accountId: string): Promise<readonly NamedRoute[]>;
  findChannel(accountId: string, name: string): Promise<StoredChannel | undefined>;
  read(accountId: string): Promise<AlertSettings>;
  /**
   * Replaces everything in one transaction, in which no other change of the account's settings is carried out. A channel that is
   * the same object as before is left alone; one that was removed fails what waits for it.
   *
   * @param decide returns what is to be there, `undefined`: as it is. It may throw, and is called again when the transaction is
   * repeated
   */
  change(accountId: string, decide: (current: AlertSettings) => SettingsChange | undefined): Promise<void>;
  /** Returns those that are sealed with another key than this one, at most `limit`. */
  listChannelsNotSealedBy(keyId: string, limit: number): Promise<readonly StoredChannel[]>;
  /** Replaces what is sealed if it is still this. */
  resealChannel(accountId: string, name: string, before: Uint8Array, after: Sealed): Promise<boolean>;
  /** Returns the silences that have not ended, those that end first before the others. */
  listSilences(accountId: string, nowMs: number): Promise<readonly Silence[]>;
  /** `no_asset`: the asset was removed meanwhile. */
  createSilence(silence: Silence, audit: AuditEntry): Promise<Stored | "no_asset">;
  /** Returns false if there is none that has not ended. */
  endSilence(accountId: string, id: string, nowMs: number, audit: AuditEntry): Promise<boolean>;
}

/** A message to a channel, and what became of it. */
export interface AlertDelivery {
  readonly id: number;
  readonly accountId: string;
  readonly channel: string;
  readonly groupId: string;
  readonly messageId: string;
  /** As it was decided on, in JSON. */
  readonly message: string;
  readonly state: "waiting" | "delivered" | "failed";
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly dueMs: number;
  readonly answeredAtMs: number | undefined;
  readonly answer: string | undefined;
}

/** What a group says, to each of the channels. */
export interface NewMessage {
  readonly id: string;
  readonly message: string;
  readonly channels: readonly string[];
  readonly total: number;
}

export interface DeliveryFilter {
  readonly channel?: string | undefined;
  readonly state?: AlertDelivery["state"] | undefined;
}

/** What is told together, and the outbox of messages. */
export interface AlertOutboxStore {
  /** Whether the account has the group, closed or not. */
  hasGroup(accountId: string, id: string): Promise<boolean>;
  /** Returns the groups of an account that are not closed. */
  listGroups(accountId: string): Promise<readonly AlertGroup[]>;
  /** Stores new members and the groups they are the first of, in one transaction. The groups are due then. */
  assign(accountId: string, assignments: readonly Assignment[], nowMs: number): Promise<void>;
  listDueGroups(nowMs: number, limit: number): Promise<readonly DueGroup[]>;
  /**
   * Returns alerts of a group, fired or over: those that have joined it since its last message before the others, and of each those
   * that have held for longest.
   */
  listTold(group: AlertGroup, limit: number): Promise<readonly ToldAlert[]>;
  /** Returns the alerts of a group that fire and that have no acknowledgement, in the order of their ids. */
  listUnacknowledged(groupId: string, after: string, limit: number): Promise<readonly GroupMember[]>;
  /**
   * Stores what a group says, in the outbox, and when it is due next. Does nothing if it has said something since it was read.
   * A channel that is disabled or removed gets nothing. One for which `MAX_WAITING_MESSAGES` wait fails it.
   */
  step(due: DueGroup, step: GroupStep, message: NewMessage | undefined, nowMs: number): Promise<void>;
  /**
   * Claims messages that are due: at most one of each channel, and of the messages about one group the first. None of a channel
   * that has had `MAX_MESSAGES_PER_HOUR`.
   *
   * @param busy channels, as of `channelKey`, of which none is claimed
   */
  claim(
    instanceId: string,
    nowMs: number,
    untilMs: number,
    limit: number,
    busy: readonly string[],
  ): Promise<readonly AlertDelivery[]>;
  /** Stores what became of an attempt, unless another instance has claimed the message meanwhile. */
  finish(delivery: AlertDelivery, instanceId: string, step: DeliveryStep, answer: string, nowMs: number): Promise<void>;
  listDeliveries(
    accountId: string,
    filter: DeliveryFilter,
    limit: number,
    before?: number,
  ): Promise<readonly AlertDelivery[]>;
  /** Counts channels of all accounts for which `claim` had a message at a time, and that have answered nothing since. */
  countStuck(sinceMs: number): Promise<number>;
  /** Removes some of what is older than it is kept. Returns whether there may be more. */
  removeOld(beforeMs: number, limit: number): Promise<boolean>;
}

/** Names a channel among those of all accounts. */
export function channelKey({ accountId, channel }: Pick<AlertDelivery, "accountId" | "channel">): string {
  return `${accountId} ${channel}`;
}
