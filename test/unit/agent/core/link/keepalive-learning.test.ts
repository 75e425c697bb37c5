import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  learnSurvived,
  learnLost,
  type KeepaliveBounds,
  type IdleEstimate,
  nextKeepaliveMs,
  INITIAL_ESTIMATE,
} from "../../../../../src/agent/core/link/keepalive-learning.ts";

const MINUTE = 60_000;
const BOUNDS: KeepaliveBounds = { startMs: 10 * MINUTE, minMs: MINUTE, maxMs: 30 * MINUTE };

interface Story {
  readonly known: IdleEstimate;
  readonly losses: number;
  readonly pauses: readonly number[];
}

/** So many pauses on a network that forgets a connection after so long. */
function live(forgetsAfterMs: number, rounds: number, from: IdleEstimate = INITIAL_ESTIMATE): Story {
  let known = from;
  let losses = 0;
  const pauses: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const pause = nextKeepaliveMs(known, BOUNDS);
    pauses.push(pause);
    if (pause < forgetsAfterMs) known = learnSurvived(known, pause);
    else {
      known = learnLost(known, pause);
      losses++;
    }
  }
  return { known, losses, pauses };
}

const anyNetwork = fc.integer({ min: MINUTE + 1, max: 3 * 60 * MINUTE });

describe("the keep-alive interval", () => {
  it("begins as configured, and grows to the longest on a network that keeps connections", () => {
    expect(live(Infinity, 6).pauses.map((ms) => ms / MINUTE)).toEqual([10, 15, 22.5, 30, 30, 30]);
  });

  it("approaches the network's idle timeout with few losses, and stays there", () => {
    fc.assert(
      fc.property(anyNetwork, (forgetsAfter) => {
        const learning = live(forgetsAfter, 30);
        expect(learning.losses).toBeLessThanOrEqual(7);
        const later = live(forgetsAfter, 100, learning.known);
        expect(later.losses).toBe(0);
        const best = Math.min(forgetsAfter, BOUNDS.maxMs);
        for (const pause of later.pauses) expect(pause).toBeGreaterThan(best * 0.75);
      }),
    );
  });

  it("stays within its bounds", () => {
    const change = fc.record({ isLoss: fc.boolean(), silence: fc.integer({ min: 1, max: 1e9 }) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
        let known = INITIAL_ESTIMATE;
        for (const { isLoss, silence } of changes) {
          known = isLoss ? learnLost(known, silence) : learnSurvived(known, silence);
          expect(nextKeepaliveMs(known, BOUNDS)).toBeGreaterThanOrEqual(BOUNDS.minMs);
          expect(nextKeepaliveMs(known, BOUNDS)).toBeLessThanOrEqual(BOUNDS.maxMs);
          if (known.lostMs !== undefined) expect(known.lostMs).toBeGreaterThan(known.heldMs);
        }
      }),
    );
  });

  it("follows a network that changes, in either direction", () => {
    fc.assert(
      fc.property(anyNetwork, anyNetwork, (before, after) => {
        const { known } = live(before, 30);
        const changed = live(after, 3_000, known);
        const settled = live(after, 50, changed.known);
        expect(settled.losses).toBeLessThanOrEqual(5);
        expect(settled.pauses.at(-1)).toBeGreaterThan(Math.min(after, BOUNDS.maxMs) * 0.6);
      }),
    );
  });

  it("discards an old loss, though seldom", () => {
    const { known } = live(20 * MINUTE, 30);
    expect(live(20 * MINUTE, 5_000, known).losses).toBeLessThanOrEqual(20);
    expect(live(Infinity, 3_000, known).pauses.at(-1)).toBe(30 * MINUTE);
  });
});
