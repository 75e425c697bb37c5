import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { differenceNotes, engineDifferences } from "../../../../../src/agent/core/deployment/engine-differences.ts";
import { parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";
import { tablesOf } from "../../../../support/repo/markdown.ts";

const LIMITS = { memory: true, cpu: true };
const DOCKER = { kind: "docker", isRootless: false, limits: LIMITS } as const;
const PODMAN = { kind: "podman", isRootless: false, limits: LIMITS } as const;
const ROOTLESS = { kind: "podman", isRootless: true, limits: { memory: false, cpu: false } } as const;

const idsOf = (engine: Parameters<typeof engineDifferences>[0]): string[] =>
  engineDifferences(engine).map(({ id }) => id);

it("an engine differs in what docs/engines.md declares", () => {
  expect(idsOf(DOCKER)).toEqual([]);
  expect(idsOf({ ...ROOTLESS, limits: LIMITS })).not.toContain("limits");
  const all = new Set([...idsOf(PODMAN), ...idsOf(ROOTLESS)]);
  const declared = tablesOf(readFileSync("docs/engines.md", "utf8")).find(({ header }) => header[0] === "difference");
  expect(new Set(declared?.rows.map(([id = ""]) => id.replaceAll("`", "")))).toEqual(all);
});

it("an app is told of the differences that it meets, and of no others", () => {
  const notes = (engine: typeof DOCKER | typeof PODMAN | typeof ROOTLESS, more: object): string[] => {
    const parsed = parseAppSpec({ name: "app", image: "example/app:1", ...more });
    if (!parsed.ok) throw parsed.error;
    return differenceNotes(engine, parsed.spec).map(({ message }) => message);
  };
  const ports = [{ host_port: 30_080, target_port: 80 }];
  const all = { ports, cap_add: ["NET_ADMIN"], read_only: true, extra_hosts: [{ name: "d", address: "host-gateway" }] };
  expect(notes(PODMAN, {})).toEqual([]);
  expect(notes(DOCKER, all)).toEqual([]);
  expect(notes(PODMAN, { ports })).toEqual(["With Podman: Published ports are reached over IPv4 only, not over IPv6."]);
  expect(notes(PODMAN, { ports, host_network: true })).toEqual([]);
  expect(notes(PODMAN, all)).toHaveLength(3);
  expect(notes(ROOTLESS, all).join("\n")).toMatch(
    /^With a rootless Podman: `host-gateway` is not the device.*\n.*cap_add/,
  );
});
