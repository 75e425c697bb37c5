import { describe, expect, it } from "vitest";
import { diffRevisions } from "../../../../../src/control-plane/core/fleets/compare-apps.ts";
import type { RevisionContent } from "../../../../../src/control-plane/core/fleets/fleet.ts";
import type { AppliedApp } from "../../../../../src/protocol/apps/apply.ts";

const BASE: AppliedApp = {
  host_network: false,
  privileged: false,
  environments: [],
  volumes: [],
  name: "web",
  image: "registry.example/web:1",
  ports: [
    { host_port: 30080, target_port: 80, protocol: "tcp" },
    { host_port: 30081, target_port: 80, protocol: "tcp" },
  ],
  devices: [{ local: "/dev/ttyUSB0", target: "/dev/modem" }],
  ulimits: [{ name: "nofile", soft: 1024, hard: 2048 }],
};

function revisionOf(app: AppliedApp): RevisionContent {
  return { apps: [{ app, depends_on: [] }] };
}

function fieldsOf(change: Partial<AppliedApp>): readonly string[] {
  const [diff] = diffRevisions(revisionOf(BASE), revisionOf({ ...BASE, ...change }));
  return diff?.fields ?? [];
}

describe("the difference of two revisions", () => {
  it("names the entry of a list by what identifies it in the app", () => {
    expect(fieldsOf({ devices: [{ local: "/dev/ttyUSB1", target: "/dev/modem" }] })).toEqual(["devices./dev/modem"]);
    expect(fieldsOf({ ulimits: [{ name: "nofile", soft: 4096, hard: 8192 }] })).toEqual(["ulimits.nofile"]);
  });

  it("does not lose one of two host ports of one port", () => {
    expect(fieldsOf({ ports: BASE.ports.slice(0, 1) })).toEqual(["ports.80/tcp#2"]);
  });

  it("names the list if only its order differs, and nothing for another order of fields", () => {
    expect(fieldsOf({ ports: BASE.ports.toReversed() })).toEqual(["ports"]);
    expect(fieldsOf({ devices: [{ target: "/dev/modem", local: "/dev/ttyUSB0" }] })).toEqual([]);
  });
});
