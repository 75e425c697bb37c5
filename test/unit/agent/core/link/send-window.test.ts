import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SendWindow } from "../../../../../src/agent/core/link/send-window.ts";

describe("the send window", () => {
  it("counts what waits, and is free again with the acknowledgement", () => {
    const window = new SendWindow(3);
    window.sent("a", 1, 10);
    window.sent("b", 1, 20);
    window.sent("a", 4, 30);
    expect([window.room, window.oldestSentAt]).toEqual([0, 10]);
    expect(window.acknowledge("a", 4)).toBe(true);
    expect([window.room, window.oldestSentAt]).toEqual([2, 20]);
  });

  it("believes no acknowledgement of what was not sent, nor the same twice", () => {
    const window = new SendWindow(3);
    expect(window.acknowledge("a", 1)).toBe(false);
    window.sent("a", 5, 0);
    expect(window.acknowledge("a", 6)).toBe(false);
    expect(window.room).toBe(2);
    expect(window.acknowledge("a", 5)).toBe(true);
    expect(window.acknowledge("a", 5)).toBe(false);
  });

  it("goes on past a deployment that is never acknowledged, and still takes a late acknowledgement", () => {
    const window = new SendWindow(2);
    window.sent("stuck", 1, 10);
    window.sent("stuck", 2, 11);
    window.stopWaiting(10);
    expect([window.room, window.oldestSentAt]).toEqual([1, 11]);
    window.stopWaiting(11);
    expect([window.room, window.oldestSentAt]).toEqual([2, undefined]);
    expect(window.acknowledge("stuck", 2)).toBe(true);
  });

  it("keeps its count right under any order of sending and acknowledging", () => {
    const step = fc.record({
      send: fc.boolean(),
      id: fc.constantFrom("a", "b", "c"),
      seq: fc.integer({ min: 1, max: 30 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const window = new SendWindow(1_000);
        const next = new Map<string, number>();
        let waiting: { id: string; seq: number }[] = [];
        for (const { send, id, seq } of steps) {
          if (send) {
            const sent = (next.get(id) ?? 0) + 1;
            next.set(id, sent);
            window.sent(id, sent, 0);
            waiting.push({ id, seq: sent });
          } else if (window.acknowledge(id, seq)) {
            expect(seq).toBeLessThanOrEqual(next.get(id) ?? 0);
            waiting = waiting.filter((event) => event.id !== id || event.seq > seq);
          }
          expect(window.room).toBe(1_000 - waiting.length);
        }
      }),
    );
  });
});
