import type { lookup } from "node:dns";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  guardedLookup,
  localAddressKind,
  rejectForbiddenAddress,
} from "../../../../src/agent/registry/local-address.ts";

const hex = (value: number): string => value.toString(16);

const BOTH = new Set(["loopback", "link-local"] as const);

test.each([
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["0.0.0.0", "loopback"],
  ["0.1.2.3", "loopback"],
  ["::1", "loopback"],
  ["::", "loopback"],
  ["::127.0.0.1", "loopback"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["64:ff9b::7f00:1", "loopback"],
  ["169.254.169.254", "link-local"],
  ["::ffff:169.254.169.254", "link-local"],
  ["64:ff9b::a9fe:a9fe", "link-local"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["febf::1", "link-local"],
  ["10.0.0.1", undefined],
  ["172.16.0.1", undefined],
  ["192.168.0.1", undefined],
  ["100.64.0.1", undefined],
  ["128.0.0.1", undefined],
  ["169.253.0.1", undefined],
  ["fd00::1", undefined],
  ["2001:db8::1", undefined],
  ["::ffff:10.0.0.1", undefined],
  ["64:ff9b::a00:1", undefined],
  ["localhost", undefined],
])("%s is %s", (address, kind) => {
  expect(localAddressKind(address)).toBe(kind);
});

test("every notation of a local IPv4 address in a URL is rejected", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const rest = fc.tuple(octet, octet, octet);
  fc.assert(
    fc.property(fc.constantFrom(127, 0), rest, fc.integer({ min: 0, max: 7 }), (first, [b, c, d], way) => {
      const number = first * 2 ** 24 + b * 65_536 + c * 256 + d;
      const written = [
        `${first}.${b}.${c}.${d}`,
        `${number}`,
        `0x${hex(number)}`,
        `0${number.toString(8)}`,
        `0x${hex(first)}.0${b.toString(8)}.${c * 256 + d}`,
        `[::ffff:${first}.${b}.${c}.${d}]`,
        `[::ffff:${hex(first * 256 + b)}:${hex(c * 256 + d)}]`,
        `${first}.${b}.${c}.${d}.`,
      ][way];
      const url = URL.parse(`http://${written}/`);
      if (!url) return;
      expect(() => rejectForbiddenAddress(url.hostname, BOTH)).toThrow(/this machine itself/);
      expect(() => rejectForbiddenAddress(url.hostname, new Set(["link-local"]))).not.toThrow();
    }),
  );
});

/** A name server that gives these addresses. */
const names = (...addresses: string[]): typeof lookup =>
  ((_name: string, _options: object, callback: (error: null, found: object[]) => void) => {
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  }) as unknown as typeof lookup;
const ask = (look: typeof lookup, all: boolean): Promise<unknown> =>
  new Promise((resolve) => {
    guardedLookup(BOTH, look)("name.example", { all }, (error, found) => resolve(error ?? found));
  });

describe("a name", () => {
  test.each([["127.0.0.1"], ["10.0.0.1", "127.0.0.1"], ["fd00::1", "fe80::1"], ["169.254.169.254"]])(
    "that leads to %s is refused when the connection is made",
    async (...addresses) => {
      for (const all of [true, false]) {
        expect(await ask(names(...addresses), all)).toMatchObject({
          kind: "refused_target",
          message: expect.stringContaining(addresses.at(-1) ?? ""),
        });
      }
    },
  );

  test("with other addresses is looked up normally", async () => {
    expect(await ask(names("10.0.0.1", "fd00::1"), false)).toBe("10.0.0.1");
    expect(await ask(names("10.0.0.1", "fd00::1"), true)).toEqual([
      { address: "10.0.0.1", family: 4 },
      { address: "fd00::1", family: 6 },
    ]);
  });
});
