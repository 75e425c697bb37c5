import fc from "fast-check";
import { expect, test } from "vitest";
import { networkOf, sourceOf } from "../../../../../src/control-plane/core/people/source.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::1", "0:0:0:0::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:0DB8:0000:0000:1:2:3:4", "2001:db8:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("%s is %s", (address, source) => {
  expect(sourceOf(address)).toBe(source);
});

test("addresses of one /64 are one source, however they are written", () => {
  const group = fc.integer({ min: 0, max: 0xff_ff }).map((value) => value.toString(16));
  const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count });
  fc.assert(
    fc.property(groups(4), groups(4), groups(4), (site, one, other) => {
      const [first, second] = [[...site, ...one].join(":"), [...site, ...other].join(":").toUpperCase()];
      expect(sourceOf(first)).toBe(sourceOf(second));
      const padded = [...site, ...one].map((text) => text.padStart(4, "0")).join(":");
      expect(sourceOf(padded)).toBe(sourceOf(first));
    }),
  );
});

test.each([
  ["192.0.2.1", "192.0.2.0/24"],
  ["::ffff:192.0.2.1", "192.0.2.0/24"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"],
  ["::1", "0:0:0::/48"],
  ["", ""],
])("%s is in the network %s", (address, network) => {
  expect(networkOf(sourceOf(address))).toBe(network);
});
