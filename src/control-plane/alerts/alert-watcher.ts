import { setImmediate } from "node:timers/promises";
import type { Logger } from "../../lib/logger.ts";
import { compareVersions } from "../../protocol/agents/version-order.ts";
import type { AlertRouteBody } from "../../protocol/alerts/settings.ts";
import { MAX_ALERTS_IN_MESSAGE } from "../../protocol/alerts/webhook.ts";
import { createId } from "../accounts/secrets.ts";
import { termsOfSelector } from "../core/selector-terms.ts";
import { findOutdated, type KnownRelease } from "../core/alerts/agents.ts";
import type { Observation, OpenAlert } from "../core/alerts/alert.ts";
import { evaluate, parseRules, shortestAbsenceMs } from "../core/alerts/evaluate.ts";
import {
  assignGroups,
  nextGroupStep,
  type AlertRoute,
  silencedUntilMs,
  type SilenceMatcher,
} from "../core/alerts/grouping.ts";
import { widestLimits } from "../core/alerts/levels.ts";
import { learn } from "../core/alerts/habits.ts";
import { type AcquireLease, LeasedLoop } from "../instances/leased-loop.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { DELIVERY_RETENTION_MS, type DueGroup, type RoundState } from "../store/alerts.ts";
import type { Store } from "../store/store.ts";
import { composeMessage, messageIdOf } from "./message.ts";

const LEASE = "alerts";
/** An instance that dies leaves alerts to another one after this time. */
const LEASE_MS = 15_000;
const LOOK_INTERVAL_MS = 1_000;
/** Pause between two looks at accounts that have no routes, so that no person is told. Shorter than the lease. */
const UNTOLD_INTERVAL_MS = 10_000;
/** Pause between two looks at an account; longer for one of which much is the matter. */
const ACCOUNT_INTERVAL_MS = 2_000;
const MAX_ACCOUNT_INTERVAL_MS = 30_000;
/** For each so many conditions that hold, the pause is longer by one `ACCOUNT_INTERVAL_MS`. */
const PER_INTERVAL = 5_000;
/** Devices are looked at for their habits as often. */
const HABITS_INTERVAL_MS = 60_000;
const CLEAN_UP_INTERVAL_MS = 3_600_000;
/** Rounds that are further apart mean that no service was there meanwhile. */
const MAX_ROUND_GAP_MS = 120_000;
/** Rows that are read or written at a time, so that requests wait for one batch at most. */
const BATCH = 500;
const WRITE_BATCH = 200;
const GROUP_BATCH = 50;

export interface AlertWatcherOptions {
  readonly store: Pick<Store, "isShared" | "leases" | "agentReleases" | "alerts" | "alertSettings" | "alertOutbox">;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly instanceId: string;
  /** Address of the service, for links. */
  readonly publicUrl: string | undefined;
  /** Called when there are messages to send. */
  readonly onMessage: () => void;
}

/**
 * Judges the conditions of all accounts, and puts what is to be told into the outbox: at one instance at a time. What fires follows
 * from what is on record and the time; events are not needed.
 */
export class AlertWatcher implements AsyncDisposable {
  readonly #options: AlertWatcherOptions;
  readonly #loop: LeasedLoop;
  /** When an account is looked at again, for those that are not at every look. */
  readonly #laterMs = new Map<string, number>();
  /** Accounts that have routes. */
  readonly #told = new Set<string>();
  #habitsDueMs = 0;
  #cleanUpDueMs = 0;

  constructor(options: AlertWatcherOptions) {
    this.#options = options;
    this.#loop = new LeasedLoop({
      ...options,
      lease: LEASE,
      leaseMs: LEASE_MS,
      pauseMs: () => (this.#told.size > 0 ? LOOK_INTERVAL_MS : UNTOLD_INTERVAL_MS),
      failureMessage: "cannot judge alerts; trying again",
      work: (signal, acquire) => this.#look(signal, acquire),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #look(signal: AbortSignal, acquire: AcquireLease): Promise<boolean> {
    const { store, clock } = this.#options;
    if (!(await acquire())) return false;
    const round = await this.#beginRound(Math.floor(clock.now()));
    await this.#judgeAccounts(round, signal, acquire);
    const more = await this.#tell();
    await store.alerts.saveRound({ ...round, lastAtMs: Math.floor(clock.now()) });
    return more;
  }

  /** Notes an absence of the service, and learns the habits of devices when that is due. */
  async #beginRound(nowMs: number): Promise<RoundState> {
    const { store } = this.#options;
    const before = await store.alerts.readRound();
    const isWatched = nowMs - before.lastAtMs <= MAX_ROUND_GAP_MS;
    // Before the first round of all there was no device.
    const isAbsent = !isWatched && before.lastAtMs > 0;
    // A device that was there a minute before the last round was seen last, perhaps, when the service went.
    const round = isAbsent ? { ...before, fromMs: before.lastAtMs - MAX_ROUND_GAP_MS / 2, untilMs: nowMs } : before;
    if (isAbsent) await store.alerts.saveRound({ ...round, lastAtMs: nowMs });
    if (!isWatched || nowMs >= this.#habitsDueMs) {
      this.#habitsDueMs = nowMs + HABITS_INTERVAL_MS;
      await this.#learnHabits(nowMs, isWatched);
    }
    if (nowMs >= this.#cleanUpDueMs) {
      const isMore = await store.alertOutbox.removeOld(
        this.#options.clock.deletionTime() - DELIVERY_RETENTION_MS,
        BATCH,
      );
      if (!isMore) this.#cleanUpDueMs = nowMs + CLEAN_UP_INTERVAL_MS;
    }
    return round;
  }

  async #learnHabits(nowMs: number, isWatched: boolean): Promise<void> {
    const { alerts } = this.#options.store;
    for (let after: string | undefined = ""; after !== undefined;) {
      const changed = await alerts.listChangedDevices(after, WRITE_BATCH);
      await alerts.saveHabits(
        changed.map(({ assetUuid, sample, habits }) => ({
          assetUuid,
          habits: learn(habits, sample, nowMs, isWatched),
        })),
      );
      after = changed.length < WRITE_BATCH ? undefined : changed.at(-1)?.assetUuid;
      await setImmediate();
    }
  }

  async #judgeAccounts(round: RoundState, signal: AbortSignal, acquire: AcquireLease): Promise<void> {
    const { store, clock } = this.#options;
    const releases = (await store.agentReleases.listReleases()).map(({ version, addedAt }) => ({
      version,
      addedAtMs: addedAt * 1000,
    }));
    const newest = releases.toSorted((a, b) => compareVersions(b.version, a.version))[0]?.version;
    for (let after: string | undefined = ""; after !== undefined && !signal.aborted;) {
      const accounts = await store.alerts.listAccounts(Math.floor(clock.now()), newest, after, BATCH);
      for (const accountId of accounts) {
        if (signal.aborted) return;
        const nowMs = Math.floor(clock.now());
        if ((this.#laterMs.get(accountId) ?? 0) > nowMs) continue;
        // So that another instance does not begin meanwhile.
        if (!(await acquire())) return;
        const count = await this.#judge(accountId, round, releases, nowMs);
        const isTold = (await store.alertSettings.listRoutes(accountId)).length > 0;
        if (isTold) this.#told.add(accountId);
        else this.#told.delete(accountId);
        const shortestMs = isTold ? ACCOUNT_INTERVAL_MS : UNTOLD_INTERVAL_MS;
        const pauseMs = shortestMs * (1 + Math.floor(count / PER_INTERVAL));
        this.#laterMs.set(accountId, nowMs + Math.min(MAX_ACCOUNT_INTERVAL_MS, pauseMs));
      }
      after = accounts.length < BATCH ? undefined : accounts.at(-1);
    }
  }

  /** Returns how many conditions hold. */
  async #judge(
    accountId: string,
    outage: RoundState,
    releases: readonly KnownRelease[],
    nowMs: number,
  ): Promise<number> {
    const { alerts, alertSettings } = this.#options.store;
    const rules = parseRules(await alertSettings.readRules(accountId));
    const time = {
      nowMs,
      awayBeforeMs: nowMs - shortestAbsenceMs(rules),
      outage,
      limits: widestLimits(rules),
      outdated: findOutdated(await alerts.listAgentVersions(accountId), releases, rules, nowMs),
    };
    const observed: Observation[] = [...(await alerts.observeOthers(accountId, nowMs))];
    for (let after: string | undefined = ""; after !== undefined;) {
      const page = await alerts.observeAssets(accountId, time, after, BATCH);
      observed.push(...page.observed);
      after = page.last;
      await setImmediate();
    }
    const open = await this.#listOpen(accountId);
    const changes = evaluate(open, observed, rules, nowMs);
    for (let at = 0; at < changes.length; at += WRITE_BATCH) {
      const some = changes.slice(at, at + WRITE_BATCH);
      const ids = some.filter(({ kind }) => kind === "open").map(() => createId("alr_"));
      await alerts.change(accountId, some, ids, nowMs);
      await setImmediate();
    }
    if (changes.some(({ kind }) => kind === "resolve")) await alerts.removeSurplus(accountId);
    await this.#group(accountId, changes.length === 0 ? open : await this.#listOpen(accountId), nowMs);
    return observed.length;
  }

  async #listOpen(accountId: string): Promise<readonly OpenAlert[]> {
    const open: OpenAlert[] = [];
    for (let page: readonly OpenAlert[] = []; ;) {
      page = await this.#options.store.alerts.listOpen(accountId, BATCH, page.at(-1));
      open.push(...page);
      if (page.length < BATCH) return open;
      await setImmediate();
    }
  }

  async #group(accountId: string, open: readonly OpenAlert[], nowMs: number): Promise<void> {
    const { alertOutbox } = this.#options.store;
    if (!open.some(({ state }) => state === "firing")) return;
    const routes = await this.#routesOf(accountId);
    if (routes.length === 0) return;
    const silences = await this.#silencesOf(accountId, nowMs);
    const groups = await alertOutbox.listGroups(accountId);
    const assignments = assignGroups(open, routes, silences, groups, nowMs, () => createId("grp_"));
    for (let at = 0; at < assignments.length; at += WRITE_BATCH) {
      await alertOutbox.assign(accountId, assignments.slice(at, at + WRITE_BATCH), nowMs);
      await setImmediate();
    }
  }

  /** Puts what groups have to say into the outbox. Returns whether more may be due. */
  async #tell(): Promise<boolean> {
    const { store, clock, publicUrl, onMessage } = this.#options;
    const nowMs = Math.floor(clock.now());
    const due = await store.alertOutbox.listDueGroups(nowMs, GROUP_BATCH);
    const routes = new Map<string, readonly AlertRoute[]>();
    for (const each of due) {
      const { accountId, group, counts } = each;
      const known = routes.get(accountId) ?? (await this.#routesOf(accountId));
      routes.set(accountId, known);
      const route = known.find(({ id }) => id === group.routeId);
      const silencedUntilMs = await this.#silencedUntilMs(each, nowMs);
      const step = nextGroupStep(group, { ...counts, silencedUntilMs }, route, nowMs);
      const told = step.message ? await store.alertOutbox.listTold(group, MAX_ALERTS_IN_MESSAGE) : [];
      const message = step.message && composeMessage(each, told, step.message, publicUrl, nowMs);
      const text = message && {
        id: messageIdOf(group.id, group.sends + 1),
        message: JSON.stringify(message),
        channels: route?.channels ?? [],
      };
      await store.alertOutbox.step(each, step, text && { ...text, total: counts.total }, nowMs);
      if (text) onMessage();
    }
    return due.length === GROUP_BATCH;
  }

  /** Returns until when everything is silenced that the group would tell; `undefined` if something is not. */
  async #silencedUntilMs({ accountId, group, counts }: DueGroup, nowMs: number): Promise<number | undefined> {
    if (counts.unacknowledged === 0) return undefined;
    const { condition } = group;
    const silences = (await this.#silencesOf(accountId, nowMs)).filter(
      ({ conditions }) => conditions?.includes(condition) ?? true,
    );
    if (silences.length === 0) return undefined;
    let untilMs = Infinity;
    for (let after = ""; ;) {
      const members = await this.#options.store.alertOutbox.listUnacknowledged(group.id, after, BATCH);
      for (const { subject } of members) {
        const endMs = silencedUntilMs(silences, { condition, subject }, nowMs);
        if (endMs === undefined) return undefined;
        untilMs = Math.min(untilMs, endMs);
      }
      if (members.length < BATCH) return untilMs === Infinity ? undefined : untilMs;
      after = members.at(-1)?.id ?? "";
      await setImmediate();
    }
  }

  async #silencesOf(accountId: string, nowMs: number): Promise<readonly SilenceMatcher[]> {
    const silences = await this.#options.store.alertSettings.listSilences(accountId, nowMs);
    return silences.map(({ conditions, selector, asset, endsAtMs }) => ({
      conditions,
      terms: termsOfSelector(selector),
      assetUuid: asset?.uuid,
      endsAtMs,
    }));
  }

  async #routesOf(accountId: string): Promise<readonly AlertRoute[]> {
    const routes = await this.#options.store.alertSettings.listRoutes(accountId);
    return routes.map(({ name, body }) => toRoute(name, body));
  }
}

function toRoute(name: string, { selector, ...body }: AlertRouteBody): AlertRoute {
  return { ...body, id: name, terms: termsOfSelector(selector) };
}
