import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { orAborted } from "../../lib/abort.ts";
import {
  addEnd,
  type CrashCount,
  crashPauseMs,
  crashText,
  type HeldWork,
  isSuspect,
  NO_CRASHES,
  POWER_CUT_WINDOW_MS,
  type PreviousEnd,
  previousEnd,
  resumeOrder,
  timesLimitReached,
} from "../core/service/crash-loop.ts";
import type { LearnedStore } from "./store.ts";

const NAME = "crashes";

const workSchema = z.object({
  /** Such as `deployment d1`. */
  name: z.string(),
  crashes: z.int(),
  powerCuts: z.int(),
  /** Whether it is going on: how many works had begun before it, from 1; 0 if it waits. */
  began: z.int(),
});
type Work = z.output<typeof workSchema>;

const stateSchema = z.object({ bootId: z.string(), isClean: z.boolean(), works: z.array(workSchema) });
type State = z.output<typeof stateSchema>;

/** How long a suspect is alone before the next one begins, in milliseconds. */
const ALONE_MS = 60_000;
/**
 * How long what is counted waits after the start, in milliseconds, while the count cannot be written: an end of the agent that is
 * not counted could come again and again.
 */
const UNNOTED_PAUSE_MS = 5 * 60_000;
/** Without a crash for this long, what work in the background had caused is forgotten. Exceeds the longest pause. */
const FORGET_MS = 24 * 60 * 60_000;

export interface CrashGuardOptions {
  readonly store: LearnedStore;
  readonly bootId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxCrashes: number;
}

/** The names of work on something that is on record, and that is forgotten with it. */
const OF_A_RECORD = /^(?:deployment|repair of|fetch of the image of) /;
/** @param id of the group, for an app of one */
export const deploymentWork = (id: string): string => `deployment ${id}`;
export const repairWork = (app: string): string => `repair of ${app}`;
export const imageWork = (app: string): string => `fetch of the image of ${app}`;
/** All that the reconciler does but the works above. */
export const CHECK_WORK = "check of the apps";

/**
 * Counts how often the agent has ended uncleanly during each piece of work, across restarts.
 *
 * A pending deployment is on disk, so that the first unclean end can be put down to it. Other work leaves no trace in normal
 * operation: only after an unclean end is it noted before it begins. After a power cut, until it was done once. After a crash,
 * each time for a day: what fails or succeeds at first may crash the agent the next time. So nothing is written as long as the
 * agent does not crash, except for one note at a stop and at the start that follows.
 */
export class CrashGuard implements Disposable {
  readonly #options: CrashGuardOptions;
  readonly #works = new Map<string, Work>();
  #end: PreviousEnd = "clean";
  #startedAt = 0;
  #isStopping = false;
  #isDisposed = false;
  /** The last note could not be written, as on a full disk. */
  #isUnnoted = false;
  #begun = 0;
  /** Works that this process has done once. */
  readonly #done = new Set<string>();
  /** Resolves when every suspect so far has had its time alone. */
  #queue: Promise<void> = Promise.resolve();
  readonly #turns = new Map<string, () => void>();
  readonly #timers = new DisposableStack();

  constructor(options: CrashGuardOptions) {
    this.#options = options;
  }

  /**
   * Counts the end of the run before. Must be called once, before any work begins.
   *
   * @param pending deployments that are on disk
   * @param apps names of the installed apps
   */
  start(pending: readonly string[], apps: readonly string[]): void {
    const { bootId, clock, logger } = this.#options;
    this.#startedAt = clock.monotonic();
    const last = readState(this.#options.store);
    this.#end = previousEnd(last, bootId);
    const possible = new Set([...pending, ...apps.flatMap((app) => [repairWork(app), imageWork(app)])]);
    const isGone = (name: string): boolean => OF_A_RECORD.test(name) && !possible.has(name);
    for (const work of last?.works ?? []) if (!isGone(work.name)) this.#works.set(work.name, work);
    const during = this.#end === "clean" ? [] : this.#blamed(pending);
    for (const name of during) this.#count(name);
    for (const [name, work] of this.#works) this.#works.set(name, { ...work, began: 0 });
    const hasChanged = last ? JSON.stringify(last) !== JSON.stringify(this.#state(false)) : true;
    if (hasChanged) this.#save();
    if (this.#works.size > 0 || this.#end === "crash") {
      this.#timers.use(clock.timer(POWER_CUT_WINDOW_MS, () => this.#forgetPowerCuts()));
      this.#timers.use(clock.timer(FORGET_MS, () => this.#forget()));
    }
    if (this.#end === "crash")
      logger.warn({ during }, "the agent crashed before this start. See: sudo journalctl -u edge-agent");
    for (const held of this.allHeld()) {
      const next = Math.round(held.leftMs / 1000);
      logger.error(
        { work: held.name, next_try_s: next },
        `${held.text} during this work; it is tried again after a pause`,
      );
    }
  }

  /** Notes that the agent was asked to stop: the end of this run is not counted. */
  stop(): void {
    this.#isStopping = true;
    this.#save();
  }

  /** Nothing is noted any more: unless it was asked to stop, the agent counts as crashed. */
  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timers.dispose();
  }

  count(name: string): CrashCount {
    return this.#works.get(name) ?? NO_CRASHES;
  }

  /** How many times the work has reached the limit: see `timesLimitReached`. */
  timesReached(name: string): number {
    return timesLimitReached(this.count(name), this.#options.maxCrashes);
  }

  /** Sorts deployments into the order in which they are resumed. */
  sorted<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
    return resumeOrder(items.map((item) => ({ item, count: this.count(nameOf(item)) }))).map(({ item }) => item);
  }

  /**
   * Resolves when the resumed deployment may begin; `undefined` if it may at once. Suspects begin one after another, each when
   * the one before has ended, has to wait, or was alone for a minute. So a further crash tells which one it was. Never rejects.
   */
  turn(name: string, signal: AbortSignal): Promise<void> | undefined {
    const { clock, maxCrashes } = this.#options;
    const count = this.#works.get(name);
    if (!count) return undefined;
    if (!isSuspect(count)) {
      this.wake(name);
      return undefined;
    }
    const over = Promise.withResolvers<void>();
    this.#turns.set(name, over.resolve);
    const pauseMs = this.#end === "clean" ? 0 : crashPauseMs(count, maxCrashes, 3);
    if (pauseMs > 0) {
      // It waits beside the queue.
      return clock.sleep(pauseMs, signal).then(
        () => this.wake(name),
        () => undefined,
      );
    }
    const before = this.#queue;
    const begin = async (): Promise<void> => {
      try {
        await orAborted(before, signal);
        const unnotedMs = this.#unnotedMs();
        if (unnotedMs > 0) await clock.sleep(unnotedMs, signal);
      } catch {
        return over.resolve();
      }
      this.wake(name);
      clock.timer(ALONE_MS, over.resolve);
    };
    const begun = begin();
    this.#queue = begun.then(() => over.promise);
    return begun;
  }

  /** Notes that a deployment goes on, if it is one of those that were counted. */
  wake(name: string): void {
    const work = this.#works.get(name);
    if (!work || work.began > 0) return;
    this.#works.set(name, { ...work, began: ++this.#begun });
    this.#save();
  }

  /** Notes that a deployment only waits, as for the data budget. What happens meanwhile is not its doing. */
  rest(name: string): void {
    this.#turns.get(name)?.();
    const work = this.#works.get(name);
    if (!work || work.began === 0) return;
    this.#works.set(name, { ...work, began: 0 });
    this.#save();
  }

  /** Notes that the work is done: it has not crashed the agent. */
  end(name: string): void {
    this.#turns.get(name)?.();
    this.#turns.delete(name);
    this.#done.add(name);
    if (this.#isStopping || !this.#works.delete(name)) return;
    this.#save();
  }

  /**
   * Does work in the background. Resolves to `undefined`, without doing it, as long as it has to pause since it crashed the
   * agent, and when the signal aborts before it begins.
   */
  async run<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    if (this.held(name)) return undefined;
    // After the deployments that may have crashed the agent.
    if (this.#end !== "clean") await orAborted(this.#queue, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
    if (this.#end === "crash" || (this.#end === "power_cut" && !this.#done.has(name))) {
      this.#works.set(name, { name, ...NO_CRASHES, ...this.#works.get(name), began: ++this.#begun });
      this.#save();
      if (this.held(name)) {
        this.rest(name);
        return undefined;
      }
    }
    try {
      return await work();
    } finally {
      // A crash is not forgotten because the work has ended without one since: see `#forget`.
      if (this.#end === "crash" && this.count(name).crashes > 0) this.rest(name);
      else this.end(name);
    }
  }

  /** Why the work has to pause, and how long; `undefined` if it may go on, as after a restart by a person. */
  held(name: string): HeldWork | undefined {
    const { clock, maxCrashes } = this.#options;
    if (this.#end === "clean") return undefined;
    const unnotedMs = this.#unnotedMs();
    if (unnotedMs > 0) return { name, text: "the agent could not note its crash on the disk", leftMs: unnotedMs };
    const count = this.count(name);
    const leftMs = this.#startedAt + crashPauseMs(count, maxCrashes) - clock.monotonic();
    return this.timesReached(name) > 0 && leftMs > 0 ? { name, text: crashText(count), leftMs } : undefined;
  }

  /** Why an app that does not run is not brought back yet; `undefined` if nothing keeps the agent from that. */
  heldFor(app: string): HeldWork | undefined {
    return this.held(repairWork(app)) ?? this.held(imageWork(app)) ?? this.held(CHECK_WORK);
  }

  /** All work that has to pause. */
  allHeld(): HeldWork[] {
    return [...this.#works.keys()].flatMap((name) => this.held(name) ?? []);
  }

  /** Deployments that were going on. Of the others what began last: each of them began alone. */
  #blamed(pending: readonly string[]): string[] {
    const unmarked = pending.filter((name) => !this.#works.has(name));
    const active = [...this.#works.values()].filter(({ began }) => began > 0);
    const last = active.toSorted((a, b) => b.began - a.began)[0];
    return [...unmarked, ...(last ? [last.name] : [])];
  }

  #count(name: string): void {
    this.#works.set(name, { name, ...addEnd(this.count(name), this.#end), began: 0 });
  }

  /** What has gone on for so long does not bring the machine down. */
  #forgetPowerCuts(): void {
    for (const [name, work] of this.#works) if (work.began > 0) this.#works.set(name, { ...work, powerCuts: 0 });
    this.#save();
  }

  /** From now on everything is as after a clean end. */
  #forget(): void {
    this.#end = "clean";
    for (const [name, { began }] of this.#works) {
      if (began === 0 && !name.startsWith("deployment ")) this.#works.delete(name);
    }
    this.#save();
  }

  #unnotedMs(): number {
    if (!this.#isUnnoted || this.#end === "clean") return 0;
    return Math.max(0, this.#startedAt + UNNOTED_PAUSE_MS - this.#options.clock.monotonic());
  }

  #state(isClean: boolean): State {
    return { bootId: this.#options.bootId, isClean, works: [...this.#works.values()] };
  }

  #save(): void {
    if (this.#isDisposed) return;
    try {
      this.#options.store.saveLearnedValue(NAME, JSON.stringify(this.#state(this.#isStopping)));
      this.#isUnnoted = false;
    } catch (error) {
      this.#isUnnoted = true;
      this.#options.logger.warn(
        { err: error },
        "what the agent works on could not be noted; see: edge-agent doctor (disk)",
      );
    }
  }
}

function readState(store: Pick<LearnedStore, "learnedValue">): State | undefined {
  const text = store.learnedValue(NAME);
  try {
    return text === undefined ? undefined : stateSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns the works during which the agent has crashed, also without a running agent: `repair of web`, with what happened. */
export function crashedWorks(
  store: Pick<LearnedStore, "learnedValue">,
): { readonly name: string; readonly text: string }[] {
  const works = readState(store)?.works ?? [];
  return works.filter(({ crashes }) => crashes > 0).map((work) => ({ name: work.name, text: crashText(work) }));
}
