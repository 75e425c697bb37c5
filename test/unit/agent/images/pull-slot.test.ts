import { describe, expect, it } from "vitest";
import { PullSlot, STALLED_AFTER_MS } from "../../../../src/agent/images/pull-slot.ts";
import { Semaphore } from "../../../../src/lib/semaphore.ts";
import { AgentRig } from "../../../support/agent-rig.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const signal = new AbortController().signal;

describe("a download's turn", () => {
  it("is left to the next one while nothing comes, and taken again with the first bytes", async () => {
    const clock = new FakeClock();
    const pulls = new Semaphore(1);
    const slow = await PullSlot.acquire(pulls, clock, signal);
    await clock.advance(STALLED_AFTER_MS - 1);
    expect(pulls.isFull).toBe(true);
    slow.renew();
    await clock.advance(STALLED_AFTER_MS - 1);
    expect(pulls.isFull).toBe(true);
    await clock.advance(1);
    expect(pulls.isFull).toBe(false);

    const other = await PullSlot.acquire(pulls, clock, signal);
    slow.renew();
    other[Symbol.dispose]();
    expect(pulls.isFull).toBe(true);
    slow[Symbol.dispose]();
    expect(pulls.isFull).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it("of two that hang does not keep a third deployment waiting", async () => {
    await using rig = new AgentRig();
    const deploy = (name: string): void =>
      rig.deployments.deploy(name, { name, image: `example/${name}:1`, ports: [] });
    // Longer than the test lasts between two bits of progress.
    for (const name of ["hung1", "hung2"]) rig.engine.publish(`example/${name}:1`, { pullMs: 1e9 });
    rig.engine.publish("example/third:1", { pullMs: 1_000 });
    for (const name of ["hung1", "hung2"]) deploy(name);
    await rig.clock.advance(1_000);
    deploy("third");
    const end = await rig.untilEnd("third", STALLED_AFTER_MS + 10_000);
    expect(end?.status).toBe("Success");
    expect(rig.events("third").map(({ message }) => message)).toContain("Waiting for another download to finish.");
    expect(["hung1", "hung2"].map((id) => rig.store.deployment(id)?.outcome)).toEqual(["pending", "pending"]);
  });
});
