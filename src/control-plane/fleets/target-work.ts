import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { TargetState } from "../../protocol/fleets/rollout.ts";
import { admit } from "../core/fleets/waves.ts";
import { neededVariables, pastAttempt, withLogs } from "../core/fleets/attempt.ts";
import { placesTaken } from "../core/fleets/progress.ts";
import { failAttempt, REVIEW_INTERVAL_MS } from "../core/fleets/decide-attempt.ts";
import { beginAttempt } from "../core/fleets/decide-begin.ts";
import { decideTarget } from "../core/fleets/decide-target.ts";
import { findDown } from "../core/fleets/judge.ts";
import { unknownRevision } from "../core/fleets/fleet.ts";
import { nextPart } from "../core/fleets/required-agent.ts";
import type { Target } from "../core/fleets/rollout.ts";
import type { TargetContext } from "../core/fleets/target-decision.ts";
import type { Beginning, TargetChange, TargetCount, TargetWithFacts } from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";
import type { AppOutput } from "./app-output.ts";
import type { AttemptOrder, Attempts } from "./attempts.ts";
import type { Round } from "./round.ts";
import { lastLines, toFacts } from "./to-facts.ts";

/** Targets that are read and decided at a time. */
export const BATCH = 200;

/** States in which something may happen to a target without an event about its asset. */
const OPEN_STATES = ["pending", "waiting", "deploying", "soaking", "lost", "deferred"] as const;
/** Those that may have to go back when their rollout does. */
const SETTLED_STATES = ["succeeded", "failed", "changed_by_hand"] as const satisfies readonly TargetState[];

/** What was decided about targets and is not stored yet. */
class Decisions {
  readonly changes: TargetChange[] = [];
  /** Changes that end the attempt of an app that is not up, whose device is asked for the app's last lines. */
  readonly unheard: { readonly change: TargetChange; readonly app: string }[] = [];
  readonly wanting = new Map<string, { readonly read: TargetWithFacts; readonly otherwise: Partial<Target> }>();
  readonly orders: AttemptOrder[] = [];
  readonly seen = new Set<string>();
}

/** Hears what becomes of targets. */
export interface TargetListener {
  /** Called with the assets on which an attempt has ended, once that is stored: until then no other rollout begins there. */
  readonly onFreed: (assetUuids: readonly string[]) => void;
  /** Called with assets whose targets were changed. */
  readonly onTargets: (assetUuids: readonly string[]) => void;
}

export interface TargetWorkOptions {
  readonly store: Pick<Store, "rollouts">;
  readonly attempts: Attempts;
  readonly output: Pick<AppOutput, "read">;
  readonly listener: TargetListener;
}

/** Decides about targets, stores what was decided and requests deployments. */
export class TargetWork {
  readonly #options: TargetWorkOptions;
  #unknownRevision: { readonly assetUuid: string; readonly revision: number } | undefined;

  constructor(options: TargetWorkOptions) {
    this.#options = options;
  }

  /** Returns what a device has that is not on record, once. */
  takeUnknownRevision(): { readonly assetUuid: string; readonly revision: number } | undefined {
    const found = this.#unknownRevision;
    this.#unknownRevision = undefined;
    return found;
  }

  /** Decides about these targets and carries that out. */
  async decideTargets(round: Round, reads: readonly TargetWithFacts[]): Promise<void> {
    const decisions = new Decisions();
    this.#decideAll(round, reads, decisions);
    await this.#carryOut(round, decisions);
  }

  /** Looks at every target that is open, or has to go back. */
  async sweepAll(round: Round, signal: AbortSignal): Promise<void> {
    const { rollouts } = this.#options.store;
    const states =
      round.rollout.state === "rolling_back"
        ? [...OPEN_STATES, ...SETTLED_STATES]
        : [...OPEN_STATES, "failed" as const, "changed_by_hand" as const];
    for (const state of states) {
      let after: Pick<Target, "wave" | "assetUuid"> | undefined;
      for (;;) {
        const page = await rollouts.listInState(round.scope, state, Number.MAX_SAFE_INTEGER, BATCH, after);
        const decisions = new Decisions();
        this.#decideAll(round, page, decisions);
        // What may begin is found by `beginPending`, in its order: it is pending from now on.
        for (const { read, otherwise } of decisions.wanting.values()) {
          if (Object.keys(otherwise).length > 0) decisions.changes.push(toChange(round, read, otherwise));
        }
        decisions.wanting.clear();
        await this.#carryOut(round, decisions);
        after = page.at(-1)?.target;
        if (page.length < BATCH || signal.aborted) break;
      }
    }
  }

  /** Begins targets whose turn it is, as far as there are places. Returns whether there may be more. */
  async beginPending(round: Round): Promise<boolean> {
    const { rollout } = round;
    if (rollout.state !== "running" && rollout.state !== "rolling_back") return false;
    const { rollouts } = this.#options.store;
    const counts = await rollouts.countTargets(rollout.id);
    const free = rollout.strategy.max_parallel - placesTaken(rollout, counts);
    if (free <= 0 || !counts.some(({ state, count }) => state === "pending" && count > 0)) return false;
    const upToWave = rollout.state === "rolling_back" ? Number.MAX_SAFE_INTEGER : rollout.wave;
    const decisions = new Decisions();
    let after: Pick<Target, "wave" | "assetUuid"> | undefined;
    let isEnd = false;
    while (decisions.wanting.size < free && !isEnd) {
      const page = await rollouts.listInState(round.scope, "pending", upToWave, BATCH, after);
      this.#decideAll(round, page, decisions);
      after = page.at(-1)?.target;
      isEnd = page.length < BATCH;
    }
    const begun = await this.#carryOut(round, decisions, counts);
    return begun > 0 && !isEnd;
  }

  #decideAll(round: Round, reads: readonly TargetWithFacts[], decisions: Decisions): void {
    for (const read of reads) {
      const { target } = read;
      if (decisions.seen.has(target.assetUuid)) continue;
      decisions.seen.add(target.assetUuid);
      const decision = this.#decide(round, read);
      if (decision.kind === "request") decisions.orders.push(orderOf(round, read, target));
      if (decision.kind === "begin") decisions.wanting.set(target.assetUuid, { read, otherwise: decision.otherwise });
      if (decision.kind !== "change") continue;
      const change = toChange(round, read, decision.fields);
      const app = unheardApp(round, read, change);
      if (app === undefined) decisions.changes.push(change);
      else decisions.unheard.push({ change, app });
    }
  }

  #decide(round: Round, read: TargetWithFacts) {
    const { contents, selector, nowMs } = round;
    const { target } = read;
    const facts = toFacts(read, { selector, neededVariables: neededVariables(contents.goals[target.direction]) });
    const unknown = unknownRevision(round.fleet, facts.report?.apps ?? []);
    if (unknown !== undefined) this.#unknownRevision ??= { assetUuid: target.assetUuid, revision: unknown };
    return decideTarget(target, facts, this.#contextOf(round, read), nowMs);
  }

  #contextOf({ rollout, contents, windows, fleet }: Round, { facts }: TargetWithFacts): TargetContext {
    // Nothing begins in a fleet that is paused.
    const state = fleet.pausedReason !== undefined && rollout.kind === "upkeep" ? "paused" : rollout.state;
    return {
      rollout: { ...rollout, state },
      goals: contents.goals,
      window: windows.stateFor(facts.report?.device),
    };
  }

  /** Stores what was decided and requests the deployments of what has begun. Returns how many have. */
  async #carryOut(round: Round, decisions: Decisions, counts?: readonly TargetCount[]): Promise<number> {
    const { rollouts } = this.#options.store;
    const { rollout, fleet, nowMs } = round;
    const wanting = [...decisions.wanting.values()];
    const known = wanting.length > 0 ? (counts ?? (await rollouts.countTargets(rollout.id))) : [];
    const admitted = new Set(
      fleet.pausedReason === undefined
        ? admit(
            rollout,
            wanting.map(({ read }) => read.target),
            known,
          ).map(({ assetUuid }) => assetUuid)
        : [],
    );
    const changes = [...decisions.changes, ...(await this.#withOutput(round, decisions))];
    const orders = [...decisions.orders];
    for (const { read, otherwise } of wanting) {
      const { target } = read;
      if (!admitted.has(target.assetUuid)) {
        if (Object.keys(otherwise).length > 0) changes.push(toChange(round, read, otherwise));
        continue;
      }
      const begun = toChange(round, read, beginAttempt(target, nowMs));
      changes.push(begun);
      orders.push(orderOf(round, read, begun.after));
    }
    if (changes.length === 0 && orders.length === 0) return 0;
    const beginning = { beginVersion: rollout.version, apps: fleet.apps };
    const changed = await this.#store(round, changes, beginning);
    // What did not become `deploying`, such as because of a pause, is decided again.
    const begun = [...admitted].filter((uuid) => changed.has(uuid));
    await this.#request(
      round,
      orders.filter(({ target }) => !admitted.has(target.assetUuid) || changed.has(target.assetUuid)),
    );
    return begun.length;
  }

  /** Returns the changes whose attempts have ended unheard, with the last lines of their apps. */
  async #withOutput({ rollout }: Round, { unheard }: Decisions): Promise<readonly TargetChange[]> {
    const { accountId } = rollout;
    const wanted = unheard.map(({ change, app }) => ({ uuid: change.before.assetUuid, accountId, app }));
    const output = await this.#options.output.read(wanted);
    return unheard.map(({ change: { past, ...change } }) => ({
      ...change,
      ...(past && { past: withLogs(past, output.get(change.before.assetUuid)) }),
    }));
  }

  async #request(round: Round, orders: readonly AttemptOrder[]): Promise<void> {
    if (orders.length === 0) return;
    const changes: TargetChange[] = [];
    try {
      await this.#options.attempts.request(round.rollout, round.contents, orders, (target, result) => {
        if (result.kind === "requested") {
          changes.push({
            before: target,
            after: { ...target, deploymentId: result.deploymentId, dueMs: round.nowMs + REVIEW_INTERVAL_MS },
          });
        } else changes.push(...this.#refused(round, target, result.code, result.message));
      });
    } finally {
      await this.#store(round, changes);
    }
  }

  /** Stores changes, and reports the attempts that ended with them. Returns the assets whose targets were changed. */
  async #store(
    { fence }: Round,
    changes: readonly TargetChange[],
    beginning?: Beginning,
  ): Promise<ReadonlySet<string>> {
    const { store, listener } = this.#options;
    const changed = await store.rollouts.changeTargets(fence, changes, beginning);
    const ended = changes.filter(({ before, after }) => before.state === "deploying" && after.state !== "deploying");
    listener.onFreed(ended.map(({ after }) => after.assetUuid));
    listener.onTargets([...changed]);
    return changed;
  }

  /** The deployment was not even accepted. */
  #refused(round: Round, target: Target, code: ErrorCode, message: string): TargetChange[] {
    const context = { rollout: round.rollout, goals: round.contents.goals, window: round.windows.stateFor(undefined) };
    const decision = failAttempt({ target, context, nowMs: round.nowMs }, { code, message, isReached: false });
    return decision.kind === "change" ? [toChange(round, { target, deployment: undefined }, decision.fields)] : [];
  }
}

/** Should the deployment have been requested before, it is found by its key, whatever part this says. */
function orderOf({ contents }: Round, { facts }: TargetWithFacts, target: Target): AttemptOrder {
  return { target, part: nextPart(contents.goals[target.direction], facts.agentVersion) ?? "apps" };
}

/**
 * Returns the app that is not up where that ends a soak. What the device has sent with the deployment, which has succeeded, has no
 * output of it. It is asked before the target goes back: another container has another log.
 */
function unheardApp(
  { contents }: Round,
  { target, facts }: TargetWithFacts,
  { past }: TargetChange,
): string | undefined {
  if (past === undefined || target.state !== "soaking" || !facts.isConnected) return undefined;
  return findDown(contents.goals[target.direction], facts.report?.apps ?? [])?.name;
}

/** Returns the change of a target, with what it says of its asset as a member, and the attempt that has ended with it. */
function toChange(
  { rollout }: Round,
  { target: before, deployment }: Pick<TargetWithFacts, "target" | "deployment">,
  fields: Partial<Target>,
): TargetChange {
  const after: Target = { ...before, ...fields };
  const past = pastAttempt(before, after, deployment?.status === "Fail" ? lastLines(deployment.lastEvent) : undefined);
  const change = { before, after, ...(past && { past }) };
  if (after.state === before.state) return change;
  if (after.state === "succeeded") return { ...change, memberRevision: rollout.revision };
  if (after.state === "rolled_back") return { ...change, memberRevision: rollout.previousRevision ?? null };
  return change;
}
