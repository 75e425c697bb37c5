import fc from "fast-check";
import { expect, it } from "vitest";
import { toDataUsage } from "../../../../../src/agent/core/traffic/data-usage.ts";
import { type DeviceDataUsage, trafficPurposeSchema } from "../../../../../src/protocol/link/data-usage.ts";

const sum = (usage: DeviceDataUsage): number =>
  usage.days
    .flatMap(({ by_purpose: purposes }) => Object.values(purposes))
    .reduce((total, { sent_bytes, received_bytes }) => total + sent_bytes + received_bytes, 0);

const entry = fc.record({
  day: fc.constantFrom("2026-11-20", "2026-11-21"),
  purpose: fc.constantFrom(...trafficPurposeSchema.options),
  network: fc.constant("ethernet" as const),
  app: fc.constantFrom("", "web"),
  deployment: fc.constant(""),
  sent: fc.nat(1_000_000),
  received: fc.nat(1_000_000),
  overhead: fc.nat(1_000),
});

it("the purposes of all days sum up to what was counted", () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), (traffic) => {
      const policy = { metered: [] } as unknown as Parameters<typeof toDataUsage>[1];
      const usage = toDataUsage({ traffic, interfaces: [] }, policy, { today: 0, thisMonth: 0 });
      expect(sum(usage)).toBe(traffic.reduce((total, { sent, received }) => total + sent + received, 0));
    }),
  );
});
