import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Repeat } from "../../lib/repeat.ts";
import type { HealthThresholds } from "../../protocol/link/health-thresholds.ts";
import { parseRules, type ParsedRule } from "../core/alerts/evaluate.ts";
import { thresholdsFor } from "../core/alerts/thresholds.ts";
import type { Asset } from "../core/asset.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";
import type { ThresholdSource } from "./handlers.ts";
import type { DeviceSession } from "./session.ts";

/** How often it is looked for rules and tags that have changed. */
const LOOK_INTERVAL_MS = 60_000;
/** Accounts and devices that are read at a time. */
const BATCH = 200;

export interface DeviceThresholdsOptions {
  readonly store: Pick<Store, "alerts" | "alertSettings" | "assetSettings">;
  /** Returns the device's current session, if it has one at this instance. */
  readonly find: (assetUuid: string) => Pick<DeviceSession, "setHealthThresholds"> | undefined;
  readonly instanceId: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

type RulesByAccount = ReadonlyMap<string, readonly ParsedRule[]>;

/**
 * Tells devices what they are to send at once, by the rules of their accounts: in the welcome, and when that changes. The store
 * says so, whichever instance or command has changed rules or tags: most accounts have no such rules, which costs one read a minute.
 */
export class DeviceThresholds implements ThresholdSource, Disposable {
  readonly #options: DeviceThresholdsOptions;
  readonly #repeat: Repeat;
  /** Of accounts that have rules about what devices measure, or had them; `undefined` until the first device connects. */
  #rules: Promise<RulesByAccount> | undefined;

  constructor(options: DeviceThresholdsOptions) {
    this.#options = options;
    this.#repeat = new Repeat(options.clock, LOOK_INTERVAL_MS, () => this.#look());
  }

  [Symbol.dispose](): void {
    this.#repeat[Symbol.dispose]();
  }

  async thresholdsOf({
    uuid,
    accountId,
    name,
    type,
  }: Pick<Asset, "uuid" | "accountId" | "name" | "type">): Promise<HealthThresholds | undefined> {
    if (!(await this.#known()).get(accountId)?.length) return undefined;
    const tags = await this.#options.store.assetSettings.readTags(uuid);
    // Those of now: another look may have been taken meanwhile.
    const rules = (await this.#known()).get(accountId) ?? [];
    return thresholdsFor(rules, { kind: "asset", id: uuid, name, type, tags });
  }

  #known(): Promise<RulesByAccount> {
    this.#rules ??= this.#read().catch((error: unknown) => {
      this.#rules = undefined;
      throw error;
    });
    return this.#rules;
  }

  async #read(): Promise<RulesByAccount> {
    const { alertSettings } = this.#options.store;
    const found = new Map<string, readonly ParsedRule[]>();
    for (let after = ""; ;) {
      const page = await alertSettings.listLevelRules(after, BATCH);
      for (const { accountId, rules } of page) found.set(accountId, parseRules(rules));
      if (page.length < BATCH) return found;
      after = page.at(-1)?.accountId ?? "";
    }
  }

  async #look(): Promise<void> {
    if (!this.#rules) return;
    try {
      const before = await this.#rules;
      const read = await this.#read();
      // One that has no such rules any more stays, so that no device keeps what it was told while they were removed.
      const rules = new Map<string, readonly ParsedRule[]>([...before].map(([accountId]) => [accountId, []]));
      for (const [accountId, ofAccount] of read) rules.set(accountId, ofAccount);
      this.#rules = Promise.resolve(rules);
      for (const [accountId, ofAccount] of rules) await this.#tell(accountId, ofAccount);
    } catch (error) {
      logStoreError(this.#options.logger, error, {}, "cannot read which figures devices are to send at once");
    }
  }

  /** Tells the devices of an account that are connected here. A session sends what it has not said. */
  async #tell(accountId: string, rules: readonly ParsedRule[]): Promise<void> {
    const { store, find, instanceId } = this.#options;
    for (let after = ""; ;) {
      const subjects = await store.alerts.listConnected(accountId, instanceId, after, BATCH);
      for (const subject of subjects) find(subject.id)?.setHealthThresholds(thresholdsFor(rules, subject));
      if (subjects.length < BATCH) return;
      after = subjects.at(-1)?.id ?? "";
      await new Promise(setImmediate);
    }
  }
}
