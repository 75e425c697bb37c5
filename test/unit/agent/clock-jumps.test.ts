import { describe, expect, it } from "vitest";
import { AgentRig } from "../../support/agent-rig.ts";

const YEARS_MS = 20 * 365 * 24 * 3_600_000;

describe.each([YEARS_MS, -YEARS_MS])("a time of day that jumps by %s ms", (jump) => {
  const jumpEvery = (rig: AgentRig) => rig.engine.faults.onCall(() => rig.clock.jump(jump));

  it.each([
    ["a deployment that succeeds", {}, "Success"],
    ["one that crashes", { exit: { code: 1, afterMs: 500 } }, "Fail"],
    ["one that becomes healthy", { health: { becomes: "healthy", afterMs: 5_000 } }, "Success"],
    ["one that never becomes healthy", { health: { becomes: "healthy", afterMs: 500_000 } }, "Fail"],
  ] as const)("changes neither the end nor the duration of %s", async (_name, behaviour, ends) => {
    const durations: number[] = [];
    for (const jumps of [false, true]) {
      await using rig = new AgentRig();
      rig.engine.publish("example/app:1", { behaviour, pullMs: 3_000 });
      using _jumping = jumps ? jumpEvery(rig) : undefined;
      rig.deployments.deploy("d1", { name: "app", image: "example/app:1" });
      expect((await rig.untilEnd("d1"))?.status).toBe(ends);
      durations.push(rig.clock.monotonic());
      const told = rig.events("d1");
      expect(told.map(({ device_seq }) => device_seq)).toEqual(
        told.map(({ device_seq }) => device_seq).toSorted((a, b) => a - b),
      );
      // How long ago, which is what the control plane dates events by.
      expect(told.every(({ age_ms }) => age_ms !== undefined && age_ms >= 0 && age_ms <= rig.clock.monotonic())).toBe(
        true,
      );
    }
    expect(durations[1]).toBe(durations[0]);
  });
});
