import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Problems } from "../../../../src/edgectl/documents/problems.ts";
import type { WrittenGroup, WrittenPort } from "../../../../src/edgectl/group/written-group.ts";
import {
  type InstalledPort,
  type MappedPort,
  mapPorts,
  requirePorts,
} from "../../../../src/edgectl/group/map-ports.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../../../src/protocol/limits.ts";
import { problemsOf } from "../../../support/edgectl/compose.ts";

type Ports = Readonly<Record<string, readonly string[]>>;

/** @param apps by name, each with ports such as `1883:1883`, `:80` or `53:53/udp` */
function draftOf(apps: Ports): WrittenGroup {
  const place = { line: 1, column: 1 };
  const port = (text: string, index: number): WrittenPort => {
    const [numbers = "", protocol = "tcp"] = text.split("/");
    const [host, target] = numbers.split(":");
    const path = `ports[${index}]`;
    const hostPort = host ? Number(host) : undefined;
    return { hostPort, targetPort: Number(target), protocol: protocol as "tcp" | "udp", path, place };
  };
  return {
    project: "gw",
    options: {},
    apps: Object.entries(apps).map(([name, ports]) => ({
      name,
      path: name,
      place,
      fields: {},
      ports: ports.map(port),
      dependsOn: [],
      placeOf: () => place,
    })),
  };
}

function map(apps: Ports, installed: readonly InstalledPort[] = []) {
  const problems = new Problems("f");
  const mapped = mapPorts(draftOf(apps), installed, problems);
  return { mapped, problems: problemsOf(problems) };
}

const key = (hostPort: number, protocol: string): string => `${hostPort}/${protocol}`;
const numbers = (mapped: readonly MappedPort[]): number[] => mapped.map(({ hostPort }) => hostPort);
const asInstalled = (mapped: readonly MappedPort[]): InstalledPort[] =>
  mapped.map(({ app, hostPort, port: { targetPort, protocol } }) => ({ app, hostPort, targetPort, protocol }));

const portText = fc
  .tuple(
    fc.oneof(
      fc.constant(""),
      fc.integer({ min: 1, max: 65_535 }).map(String),
      fc.integer({ min: MIN_HOST_PORT, max: MAX_HOST_PORT }).map(String),
    ),
    fc.integer({ min: 1, max: 65_535 }),
    fc.constantFrom("", "/udp"),
  )
  .map(([host, target, protocol]) => `${host}:${target}${protocol}`);
const appsWithPorts = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.uniqueArray(portText, { maxLength: 6 }), {
  minKeys: 1,
});
const someInstalled = fc.array(
  fc.record({
    app: fc.constantFrom("a", "b", "x", "y"),
    hostPort: fc.integer({ min: MIN_HOST_PORT, max: MAX_HOST_PORT }),
    targetPort: fc.integer({ min: 1, max: 65_535 }),
    protocol: fc.constantFrom("tcp", "udp"),
  }),
);

describe("--map-ports", () => {
  test("known ports: they must never change, or every device gets others", () => {
    const { mapped } = map({
      mosquitto: ["1883:1883", "9001:9001"],
      "node-red": ["1880:1880"],
      dns: ["53:53", "53:53/udp"],
    });
    expect(numbers(mapped)).toEqual([30_488, 30_121, 30_552, 31_881, 31_881]);
  });

  test("every port is in the range, and none is given twice", () => {
    fc.assert(
      fc.property(appsWithPorts, someInstalled, (apps, installed) => {
        const { mapped, problems } = map(apps, installed);
        expect(problems).toEqual([]);
        expect(mapped).toHaveLength(Object.values(apps).flat().length);
        for (const { hostPort } of mapped) {
          expect(hostPort).toBeGreaterThanOrEqual(MIN_HOST_PORT);
          expect(hostPort).toBeLessThanOrEqual(MAX_HOST_PORT);
        }
        const chosen = mapped.filter(({ port, hostPort }) => port.hostPort !== hostPort);
        for (const each of chosen) {
          const same = mapped.filter(
            (other) => key(other.hostPort, other.port.protocol) === key(each.hostPort, each.port.protocol),
          );
          expect(same).toEqual([each]);
          const foreign = installed.filter(({ app }) => apps[app] === undefined);
          expect(foreign.map((port) => key(port.hostPort, port.protocol))).not.toContain(
            key(each.hostPort, each.port.protocol),
          );
        }
      }),
    );
  });

  test("a port in the range stays as the file says", () => {
    fc.assert(
      fc.property(appsWithPorts, someInstalled, (apps, installed) => {
        for (const { port, hostPort } of map(apps, installed).mapped) {
          const isAllowed =
            port.hostPort !== undefined && port.hostPort >= MIN_HOST_PORT && port.hostPort <= MAX_HOST_PORT;
          if (isAllowed) expect(hostPort).toBe(port.hostPort);
        }
      }),
    );
  });

  test("repeated on a device where it was applied, it gives the same", () => {
    fc.assert(
      fc.property(appsWithPorts, someInstalled, (apps, installed) => {
        const others = installed.filter(({ app }) => apps[app] === undefined);
        const { mapped } = map(apps, others);
        expect(numbers(map(apps, [...asInstalled(mapped), ...others]).mapped)).toEqual(numbers(mapped));
        expect(numbers(map(apps, others).mapped)).toEqual(numbers(mapped));
      }),
    );
  });

  test("an installed app keeps its port when another app is added before it", () => {
    const first = map({ b: ["1883:1883"] }).mapped;
    const second = map({ a: ["80:80"], b: ["1883:1883"] }, asInstalled(first)).mapped;
    expect(second.find(({ app }) => app === "b")?.hostPort).toBe(first[0]?.hostPort);
  });

  test("a full device is a problem, by line", () => {
    const all = Array.from({ length: MAX_HOST_PORT - MIN_HOST_PORT + 1 }, (_, index) => index + MIN_HOST_PORT);
    const installed = all.map((hostPort) => ({ app: "x", hostPort, targetPort: 80, protocol: "tcp" }));
    expect(map({ a: ["80:80"] }, installed.slice(1)).mapped.map(({ hostPort }) => hostPort)).toEqual([MIN_HOST_PORT]);
    expect(map({ a: ["80:80"] }, installed)).toMatchObject({
      mapped: [],
      problems: ["f:1:1: ports[0] finds no free port from 30000 to 32767."],
    });
  });
});

describe("without --map-ports", () => {
  test("a port outside is refused with the one that would be chosen", () => {
    const problems = new Problems("f");
    const written = draftOf({ mosquitto: ["1883:1883", ":9001", "30080:80", "53:53/udp"] });
    requirePorts(written, problems);
    const [one, two, , udp] = numbers(mapPorts(written, [], new Problems("f")));
    expect(problemsOf(problems)).toEqual([
      `f:1:1: ports[0] has the port 1883 on the device, which must be from 30000 to 32767. Use ${one}:1883, or give --map-ports to have one chosen.`,
      `f:1:1: ports[1] has no port on the device. Use ${two}:9001, or give --map-ports to have one chosen.`,
      `f:1:1: ports[3] has the port 53 on the device, which must be from 30000 to 32767. Use ${udp}:53/udp, or give --map-ports to have one chosen.`,
    ]);
  });
});

test("more ports than a device has are one problem for each line, and no more work than that", () => {
  const targets = Array.from({ length: 2_768 }, (_, index) => `:${index + 1}`);
  const { mapped, problems } = map({ a: targets, b: targets });
  expect(mapped).toHaveLength(2_768);
  expect(problems.at(-1)).toMatch(/more$|finds no free port from 30000 to 32767/);
});
