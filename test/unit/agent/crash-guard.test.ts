import { expect, it } from "vitest";
import { CrashGuard, imageWork } from "../../../src/agent/store/crash-guard.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { captureLog } from "../../support/link/log-capture.ts";

/*
 * Work in the background that crashes the agent not when it is done for the first time since the start, but later.
 */

const MINUTE_MS = 60_000;
const WORK = imageWork("app");

const never = new AbortController().signal;
const fail = () => Promise.reject(new Error("503"));
const succeed = () => Promise.resolve();

/** An agent that is ended and started again. */
class Agent {
  readonly clock = new FakeClock();
  readonly #learned = new Map<string, string>();
  #boots = 1;
  isDiskFull = false;
  guard = this.#start();

  #start(): CrashGuard {
    const guard = new CrashGuard({
      store: {
        learnedValue: (name) => this.#learned.get(name),
        saveLearnedValue: (name, value) => {
          if (this.isDiskFull) throw new Error("database or disk is full");
          this.#learned.set(name, value);
        },
      },
      bootId: `boot ${this.#boots}`,
      clock: this.clock,
      logger: captureLog().logger,
      maxCrashes: 3,
    });
    guard.start(["deployment d1"], ["app"]);
    return guard;
  }

  restart(end: "killed" | "power cut" | "stopped"): void {
    if (end === "stopped") this.guard.stop();
    if (end === "power cut") this.#boots++;
    this.guard[Symbol.dispose]();
    this.guard = this.#start();
  }

  async crashDuringWork(): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const hang = (): Promise<void> => {
      begun.resolve();
      return Promise.withResolvers<void>().promise;
    };
    void this.guard.run(WORK, hang, never);
    await begun.promise;
    this.restart("killed");
  }
}

it("work waits five minutes after each crash that cannot be counted, since the disk is full", async () => {
  const agent = new Agent();
  await agent.guard.run(WORK, succeed, never);
  agent.restart("killed");
  agent.isDiskFull = true;
  for (let crashes = 0; crashes < 3; crashes++) {
    agent.restart("killed");
    // Nothing was noted before it: it waits all the same.
    await agent.guard.run(WORK, () => Promise.reject(new Error("it was done")), never);
    expect(agent.guard.held(WORK)).toMatchObject({ leftMs: 5 * MINUTE_MS });
    const resumed = agent.guard.turn("deployment d1", never);
    let isResumed = false;
    void resumed?.then(() => (isResumed = true));
    await agent.clock.advance(5 * MINUTE_MS - 1);
    expect([isResumed, agent.guard.held(WORK)?.leftMs]).toEqual([false, 1]);
    await agent.clock.advance(1);
    expect([isResumed, agent.guard.held(WORK)]).toEqual([true, undefined]);
  }
  agent.isDiskFull = false;
  agent.restart("killed");
  expect(agent.guard.held(WORK)).toBeUndefined();
});

it.each([
  ["fails", fail],
  ["succeeds", succeed],
])("work that %s first in each run of the agent, and crashes it the next time, pauses", async (_how, first) => {
  const agent = new Agent();
  // The first crash finds nothing noted.
  for (let crashes = 0; crashes < 4; crashes++) {
    expect(agent.guard.held(WORK)).toBeUndefined();
    await agent.guard.run(WORK, first, never).catch(() => undefined);
    await agent.crashDuringWork();
  }
  expect(agent.guard.held(WORK)).toMatchObject({ text: "the agent crashed 3 times", leftMs: 5 * MINUTE_MS });
});

it.each([
  ["a day without a crash", "killed", 24 * 60 * MINUTE_MS],
  ["a power cut", "power cut", 0],
  ["a stop", "stopped", 0],
] as const)("work that is done after %s counts from the beginning, and is not noted any more", async (...row) => {
  const [, end, waitMs] = row;
  const agent = new Agent();
  await agent.crashDuringWork();
  await agent.crashDuringWork();
  agent.restart(end);
  expect(agent.guard.count(WORK).crashes).toBe(1);
  await agent.clock.advance(waitMs);
  await agent.guard.run(WORK, succeed, never);
  expect(agent.guard.count(WORK).crashes).toBe(0);
  await agent.crashDuringWork();
  expect(agent.guard.count(WORK).crashes).toBe(0);
});
