import type { Rollout } from "../core/fleets/rollout.ts";
import { accountTopic } from "../events/account-feeds.ts";
import type { Bus } from "../bus/bus.ts";
import { AssetChanges } from "./asset-changes.ts";
import { Leavers } from "./leavers.ts";
import { MemberJudge } from "./member-judge.ts";
import { type RunnerListener, RolloutRunner, type RunnerOptions } from "./rollout-runner.ts";

export interface AccountRolloutsOptions
  extends Omit<RunnerOptions, "listener">, Pick<RunnerListener, "onFleetChanged"> {
  readonly bus: Bus;
  readonly accountId: string;
}

interface Running {
  readonly runner: RolloutRunner;
  readonly fleetId: string;
  readonly done: Promise<void>;
}

/**
 * What is looked after of the fleets of one account: rollouts, ownership, and how the members are. Each part hears of what happens
 * to the account's assets.
 */
export class AccountRollouts implements AsyncDisposable {
  readonly #options: AccountRolloutsOptions;
  readonly #running = new Map<string, Running>();
  readonly #leavers: Leavers;
  readonly #members: MemberJudge;
  readonly #changes: AssetChanges;

  constructor(options: AccountRolloutsOptions) {
    const { store, bus, clock, logger, accountId } = options;
    this.#options = options;
    this.#leavers = new Leavers({
      store,
      accountId,
      clock,
      logger,
      onFreed: (assetUuids) => {
        this.#notify(assetUuids);
        this.#members.notify(assetUuids);
      },
    });
    this.#members = new MemberJudge({ ...options, onRepair: (assetUuids) => this.#notify(assetUuids) });
    this.#changes = new AssetChanges({
      read: (after, limit) => store.accountEvents.read(accountId, after, limit),
      subscribe: (listener) => bus.subscribe(accountTopic(accountId), listener),
      clock,
      logger,
      isShared: store.isShared,
      listener: {
        onAsset: (assetUuid) => {
          this.#notify([assetUuid]);
          this.#members.notify([assetUuid]);
        },
        onMembership: () => {
          this.#leavers.notify();
          for (const { runner } of this.#all()) runner.notifyMembers();
        },
        onFleet: (name) => this.#onFleet(name),
        onRollout: () => this.#members.sweep(),
        onMissed: () => {
          this.#members.sweep();
          this.#leavers.notify();
          for (const { runner } of this.#all()) runner.sweep();
        },
      },
    });
  }

  /** Begins to look after a rollout; one that is looked after already may have been changed. */
  look({ id, fleetId }: Pick<Rollout, "id" | "fleetId">, signal: AbortSignal): void {
    const known = this.#running.get(id);
    if (known) return known.runner.notify();
    const listener: RunnerListener = {
      onFleetChanged: this.#options.onFleetChanged,
      onSettled: () => this.#notifyMembers(fleetId),
      onFreed: (assetUuids) => this.#notify(assetUuids, id),
      onTargets: (assetUuids) => this.#members.notify(assetUuids),
    };
    const runner = new RolloutRunner({ ...this.#options, listener }, id);
    const done = runner.run(signal).finally(() => this.#running.delete(id));
    this.#running.set(id, { runner, fleetId, done });
  }

  /** Resolves when the rollouts are not looked after any more. The signal given with them has to be aborted. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#members[Symbol.dispose]();
    this.#changes[Symbol.dispose]();
    this.#leavers[Symbol.dispose]();
    for (const { runner } of this.#all()) runner.notify();
    await Promise.all(this.#all().map(({ done }) => done));
  }

  async #onFleet(name: string): Promise<void> {
    const { store, accountId } = this.#options;
    this.#leavers.notify();
    this.#members.sweep();
    const fleet = await store.fleets.findFleet(accountId, name);
    if (fleet) return this.#notifyMembers(fleet.id);
    // One that was removed owns no apps any more: others may wait for them.
    for (const { runner } of this.#all()) runner.sweep();
  }

  #notifyMembers(fleetId: string): void {
    for (const { runner, fleetId: own } of this.#all()) if (own === fleetId) runner.notifyMembers();
  }

  /** Tells all rollouts but one that something happened to these assets. */
  #notify(assetUuids: readonly string[], except?: string): void {
    for (const [id, { runner }] of this.#running)
      if (id !== except) for (const assetUuid of assetUuids) runner.notify(assetUuid);
  }

  #all(): Running[] {
    return [...this.#running.values()];
  }
}
