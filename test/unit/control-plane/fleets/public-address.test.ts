import fc from "fast-check";
import { expect, test } from "vitest";
import { isPublicAddress, type LookupAll, publicLookup } from "../../../../src/control-plane/images/public-address.ts";

test.each([
  "0.0.0.0",
  "10.255.255.255",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "168.63.129.16",
  "169.254.169.254",
  "172.31.0.1",
  "192.0.0.192",
  "192.168.1.1",
  "198.19.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:0:8.8.8.8",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::1",
  "3fff::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
  "localhost",
  "",
])("%s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  "1.1.1.1",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "192.169.0.0",
  "223.255.255.255",
  "2001:4860:4860::8888",
  "2606:4700::1",
  "2a00::1",
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

const octet = fc.integer({ min: 0, max: 255 });
const v4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join("."));

const hex = (part: number): string => part.toString(16).padStart(2, "0");

test("no form of IPv6 that embeds an IPv4 address is public, whatever the address", () => {
  const prefix = fc.constantFrom("::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "fe80::5efe:");
  fc.assert(fc.property(prefix, v4, (start, address) => !isPublicAddress(start + address)));
  const sixToFour = fc.tuple(octet, octet, octet, octet).map(([a, b, c, d]) => `${hex(a)}${hex(b)}:${hex(c)}${hex(d)}`);
  fc.assert(fc.property(sixToFour, (address) => !isPublicAddress(`2002:${address}::1`)));
});

test("private IPv4 addresses are refused in every class", () => {
  const start = fc.constantFrom("0", "10", "127", "169.254", "192.168", "198.18", "100.127", "172.16", "239", "240");
  fc.assert(
    fc.property(start, v4, (prefix, address) => {
      const rest = address.split(".").slice(prefix.split(".").length);
      return !isPublicAddress([prefix, ...rest].join("."));
    }),
  );
});

test("only addresses of 2000::/3 are public in IPv6", () => {
  const first = fc.integer({ min: 0, max: 0xffff }).filter((part) => part >> 13 !== 1);
  fc.assert(fc.property(first, (part) => !isPublicAddress(`${part.toString(16)}:1:2:3:4:5:6:7`)));
});

/** Calls the lookup as a connection does. */
function connectTo(addresses: readonly string[], all: boolean): Promise<unknown> {
  const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const resolve: LookupAll = (_name, _options, callback) => callback(null, found);
  return new Promise((fulfil, reject) => {
    publicLookup(isPublicAddress, resolve)("registry.example.com", { all }, (error, address) => {
      if (error) reject(error);
      else fulfil(address);
    });
  });
}

test("a name is refused if any of its addresses is not public, or if it has none", async () => {
  const refusal = { reason: "private_address", message: expect.not.stringContaining("10.0.0.1") as string };
  for (const all of [true, false]) {
    await expect(connectTo(["1.1.1.1", "10.0.0.1"], all)).rejects.toMatchObject(refusal);
    await expect(connectTo(["10.0.0.1", "1.1.1.1"], all)).rejects.toMatchObject(refusal);
    await expect(connectTo([], all)).rejects.toMatchObject(refusal);
  }
  await expect(connectTo(["1.1.1.1", "2606:4700::1"], false)).resolves.toBe("1.1.1.1");
  await expect(connectTo(["1.1.1.1", "2606:4700::1"], true)).resolves.toEqual([
    { address: "1.1.1.1", family: 4 },
    { address: "2606:4700::1", family: 6 },
  ]);
});
