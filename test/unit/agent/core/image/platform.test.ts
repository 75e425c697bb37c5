import fc from "fast-check";
import { expect, test } from "vitest";
import {
  choosePlatform,
  platformName,
  platformOf,
  runnable,
  runsOn,
  type Platform,
} from "../../../../../src/agent/core/image/platform.ts";

const linux = (architecture: string, variant?: string): Platform => ({ os: "linux", architecture, variant });

const platforms = fc.record(
  {
    os: fc.constantFrom("linux", "windows", "Linux"),
    architecture: fc.constantFrom("amd64", "x86_64", "arm64", "aarch64", "arm", "386", "riscv64", "s390x"),
    variant: fc.constantFrom("v1", "v2", "v5", "v6", "v7", "v8", "7", ""),
  },
  { requiredKeys: ["os", "architecture"] },
);
const offers = fc.array(fc.record({ platform: platforms, id: fc.nat() }), { maxLength: 8 });

test("the chosen platform runs on the machine, and no other entry suits it better", () => {
  fc.assert(
    fc.property(offers, platforms, (list, machine) => {
      const chosen = choosePlatform(list, machine);
      expect(chosen !== undefined).toBe(list.some(({ platform }) => runsOn(platform, machine)));
      if (!chosen) return;
      const rank = (platform: Platform): number => {
        return runnable(machine).findIndex((candidate) => runsOn(platform, candidate) && runsOn(candidate, platform));
      };
      const ranks = list.flatMap(({ platform }) => (runsOn(platform, machine) ? [rank(platform)] : []));
      expect(rank(chosen.platform)).toBe(Math.min(...ranks));
    }),
  );
});

test("the first of equally suitable platforms is chosen", () => {
  fc.assert(
    fc.property(offers, platforms, (list, machine) => {
      const chosen = choosePlatform(list, machine);
      expect(choosePlatform([...list, ...list.map((offer) => ({ ...offer, id: -1 }))], machine)).toBe(chosen);
    }),
  );
});

test("a machine runs its own platform, in any spelling", () => {
  fc.assert(
    fc.property(platforms, (platform) => {
      expect(runsOn(platform, platform)).toBe(true);
    }),
  );
});

test.each([
  // [machine, offered, chosen]
  [linux("arm64"), ["arm/v7", "arm64/v8"], "arm64/v8"],
  [linux("arm64"), ["amd64", "arm/v6", "arm/v7"], "arm/v7"],
  [linux("arm", "v7"), ["arm/v5", "arm/v6", "arm64"], "arm/v6"],
  [linux("arm", "v6"), ["arm/v7", "arm"], undefined],
  [linux("arm"), ["arm"], "arm"],
  [linux("amd64"), ["386", "amd64"], "amd64"],
  [linux("amd64"), ["386"], "386"],
  [linux("amd64"), ["amd64/v3", "amd64/v1"], "amd64/v1"],
  [linux("386"), ["amd64"], undefined],
] as const)("%o takes of %o: %s", (machine, offered, chosen) => {
  const list = offered.map((name) => {
    const [architecture = "", variant] = name.split("/");
    return { name, platform: linux(architecture, variant) };
  });
  expect(choosePlatform(list, machine)?.name).toBe(chosen);
});

test("an entry without a platform, such as an attestation, suits no machine", () => {
  expect(
    choosePlatform([{}, { platform: { os: "unknown", architecture: "unknown" } }], linux("amd64")),
  ).toBeUndefined();
});

test.each([
  ["arm", "armv6l", "linux/arm/v6"],
  ["arm", "armv7l", "linux/arm/v7"],
  ["arm", "armv8l", "linux/arm/v7"],
  ["arm", "aarch64", "linux/arm/v7"],
  ["arm64", "aarch64", "linux/arm64"],
  ["amd64", "x86_64", "linux/amd64"],
])("an engine for %s on a %s kernel is %s", (architecture, machine, name) => {
  expect(platformName(platformOf("linux", architecture, machine))).toBe(name);
});
