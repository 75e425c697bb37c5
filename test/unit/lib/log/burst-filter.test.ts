import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BurstFilter } from "../../../../src/lib/log/burst-filter.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const line = (msg: string, time = "2026-11-20T12:00:00.000Z"): string =>
  `${JSON.stringify({ level: "warn", time, msg })}\n`;

function filter(clock = new FakeClock()) {
  const written: { msg: string; repeated?: number }[] = [];
  const burst = new BurstFilter(clock, (text) => written.push(JSON.parse(text) as { msg: string }));
  return { burst, clock, written };
}

describe("bursts in the log", () => {
  it("different lines are written at once", () => {
    const { burst, written } = filter();
    for (const msg of ["a", "b", "c", "a"]) burst.push(line(msg));
    expect(written.map(({ msg }) => msg)).toEqual(["a", "b", "c", "a"]);
  });

  it("the first equal lines are written; the others are one line with their number, whatever their time", async () => {
    const { burst, clock, written } = filter();
    for (let second = 10; second < 60; second++) burst.push(line("again", `2026-11-20T12:00:${second}.000Z`));
    expect(written).toHaveLength(3);
    await clock.advance(10_000);
    expect(written).toHaveLength(4);
    expect(written.at(-1)).toMatchObject({ msg: "again", time: "2026-11-20T12:00:59.000Z", repeated: 47 });
  });

  it("after a burst an equal line is new again", async () => {
    const { burst, clock, written } = filter();
    burst.push(line("a"));
    await clock.advance(10_000);
    burst.push(line("a"));
    expect(written).toHaveLength(2);
  });

  it("every line is written or counted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.nat({ max: 3_000 }))), async (steps) => {
        const { burst, clock, written } = filter();
        for (const [kind, pause] of steps) {
          burst.push(line(`message ${kind}`));
          await clock.advance(pause);
        }
        burst.flush();
        const counted = written.reduce((sum, { repeated = 1 }) => sum + repeated, 0);
        expect(counted).toBe(steps.length);
      }),
    );
  });
});
