import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { missingNetworks, networksOf } from "../../../../../src/agent/core/app/networks.ts";
import { type AppSpec, parseAppSpec, parseNewAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";

function parsed(fields: object): AppSpec {
  const result = parseAppSpec({ name: "app", image: "example/app:1", ...fields });
  if (!result.ok) throw result.error;
  return result.spec;
}

const networks = fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9_.-]{0,10}$/), { minLength: 1, maxLength: 8 });

describe("the networks of an app", () => {
  it.each([
    [{}, ["p"]],
    [{ networks: ["a", "b"] }, ["p.a", "p.b"]],
    [{ networks: ["a", "b"], internal_networks: ["a"] }, ["p.b", "p-internal.a"]],
    // An internal one leads no published port.
    [{ networks: ["a", "b", "c"], internal_networks: ["a"], external_networks: ["b"] }, ["b", "p.c", "p-internal.a"]],
    [{ network: "none" }, []],
    [{ host_network: true }, []],
  ])("of %j are %j", (fields, names) => {
    expect(networksOf(parsed(fields), "p").map(({ name }) => name)).toEqual(names);
  });

  it("differ where their names do, and from the shared one", () => {
    fc.assert(
      fc.property(networks, (given) => {
        const names = networksOf(parsed({ networks: given }), "p").map(({ name }) => name);
        expect(new Set([...names, ...networksOf(parsed({}), "p").map(({ name }) => name)]).size).toBe(given.length + 1);
      }),
    );
  });

  it("are complete once it has joined the missing ones, whatever others it is on", () => {
    fc.assert(
      fc.property(networks, fc.array(fc.string()), fc.nat(8), (given, others, kept) => {
        const wanted = networksOf(parsed({ networks: given }), "p");
        const attached = [...others, ...wanted.slice(0, kept).map(({ name }) => name)];
        const missing = missingNetworks(wanted, attached);
        expect(missing.every((name) => !attached.includes(name))).toBe(true);
        expect(missingNetworks(wanted, [...attached, ...missing])).toEqual([]);
      }),
    );
  });

  it("are not missing where the container can join none", () => {
    expect(missingNetworks(networksOf(parsed({}), "p"), undefined)).toEqual([]);
    expect(missingNetworks(networksOf(parsed({}), "p"), [])).toEqual(["p"]);
  });

  it.each([
    [{ networks: ["a"], network: "none" }, "networks"],
    [{ networks: ["a"], internal_networks: ["b"] }, "internal_networks"],
    [{ internal_networks: ["b"] }, "internal_networks"],
    [{ external_networks: ["b"] }, "external_networks"],
    [{ networks: ["a"], internal_networks: ["a"], external_networks: ["a"] }, "internal_networks"],
    [{ networks: ["bridge"], external_networks: ["bridge"] }, "external_networks[0]"],
    [{ networks: ["podman"], external_networks: ["podman"] }, "external_networks[0]"],
    [{ networks: ["a"], host_network: true }, "networks"],
    [{ network: "none", host_network: true }, "network"],
    [{ network: "none", ports: [{ host_port: 30_000, target_port: 80 }] }, "ports"],
    [{ networks: [] }, "networks"],
    [{ networks: ["a", "a"] }, "networks"],
    [{ networks: ["A"] }, "networks[0]"],
    [{ networks: ["../a"] }, "networks[0]"],
    [{ networks: Array.from({ length: 9 }, (_, index) => `n${index}`) }, "networks"],
    [{ network: "bridge" }, "network"],
  ])("are refused: %j", (fields, path) => {
    expect(parseNewAppSpec({ name: "app", image: "example/app:1", ...fields })).toMatchObject({
      ok: false,
      error: { code: "InvalidRequest", details: { issues: [{ path }] } },
    });
  });
});
