import { describe, expect, test } from "vitest";
import { progressDetails } from "../../../src/protocol/deployments/deployment-event.ts";
import {
  type CommandNeeds,
  unknownFeatures,
  usedFeatures,
  withoutAbsent,
} from "../../../src/protocol/link/features.ts";
import { negotiateVersion, PROTOCOL_VERSIONS } from "../../../src/protocol/version.ts";

/** Versions of a protocol that has gone on. */
const VERSIONS = {
  current: 3,
  oldest: 2,
  added: {
    pull: 2,
    "environments[].secret": 3,
    "healthcheck.start_period_s": 3,
    "apply.remove": 3,
    "apply.apps[].depends_on": 3,
    "action restart": 3,
    "option dry_run": 3,
    "option registry_auth": 3,
  },
};
const UNKNOWN = unknownFeatures(2, VERSIONS);

const used = (spec: unknown, fields: Partial<CommandNeeds> = {}): string[] =>
  usedFeatures(UNKNOWN, { action: "deploy", spec, options: {}, hasRegistryAuth: false, ...fields });

describe("versions of the protocol", () => {
  test("are met at the older one of both sides, unless that is older than the oldest", () => {
    expect([1, 2, 3, 4].map((peer) => negotiateVersion(peer, VERSIONS))).toEqual([undefined, 2, 3, 3]);
  });

  test("have the features that they and those before have added", () => {
    expect(unknownFeatures(3, VERSIONS)).toEqual(new Set());
    expect(UNKNOWN).toEqual(new Set(Object.keys(VERSIONS.added).slice(1)));
    expect(unknownFeatures(1, VERSIONS)).toEqual(new Set(Object.keys(VERSIONS.added)));
  });

  test("begin with 1, which has everything", () => {
    expect([PROTOCOL_VERSIONS.current, PROTOCOL_VERSIONS.oldest, PROTOCOL_VERSIONS.added]).toEqual([1, 1, {}]);
  });
});

describe("the features that a command uses", () => {
  test("are fields of the app, wherever they are, each once", () => {
    const environments = [
      { key: "A", value: "1", secret: true },
      { key: "B", value: "2" },
      { key: "C", secret: true },
    ];
    expect(used({ pull: "always", environments, healthcheck: { command: ["a"], start_period_s: 5 } })).toEqual([
      "environments[].secret",
      "healthcheck.start_period_s",
    ]);
    for (const spec of [undefined, null, "text", [], {}, { environments: [null, "A=1"], healthcheck: 5 }]) {
      expect(used(spec), JSON.stringify(spec)).toEqual([]);
    }
  });

  test("are those of all apps of an apply, and its own fields", () => {
    const apps = [{ app: { environments: [{ secret: true }] } }, { app: null, depends_on: [] }, null];
    expect(used({ apps, remove: ["old"] }, { action: "apply" })).toEqual([
      "environments[].secret",
      "apply.remove",
      "apply.apps[].depends_on",
    ]);
    expect(used({ apps: [{ app: { name: "remove", remove: true } }] }, { action: "apply" })).toEqual([]);
  });

  test("are the action and the options", () => {
    expect(used(null, { action: "restart" })).toEqual(["action restart"]);
    expect(used({}, { options: { dry_run: true }, hasRegistryAuth: true })).toEqual([
      "option dry_run",
      "option registry_auth",
    ]);
  });

  test("are not those whose value means the same as their absence, which a device is not sent", () => {
    const spec = {
      image: "web:1",
      pull: null,
      host_network: false,
      healthcheck: { command: ["a"], start_period_s: null },
      environments: [{ key: "A", value: "1", secret: false }, { key: "B", value: "2", secret: true }, "text"],
    };
    expect(used({ ...spec, environments: spec.environments.slice(0, 1) })).toEqual([]);
    expect(withoutAbsent(spec, UNKNOWN)).toEqual({
      ...spec,
      healthcheck: { command: ["a"] },
      environments: [{ key: "A", value: "1" }, { key: "B", value: "2", secret: true }, "text"],
    });
    expect(withoutAbsent(spec, new Set())).toEqual(spec);
    for (const other of [undefined, null, "text", [1]]) expect(withoutAbsent(other, UNKNOWN)).toEqual(other);
  });
});

test("details that decide something are read one by one, and those of the wrong type are ignored", () => {
  expect(progressDetails({})).toEqual({});
  expect(progressDetails({ details: { waiting_s: 5, cuts: 2, bytes_per_second: 1.5, waiting_for: "hours" } })).toEqual({
    waiting_s: 5,
    cuts: 2,
    bytes_per_second: 1.5,
  });
  const wrong = progressDetails({ details: { waiting_s: -1, cuts: 1.5, bytes_per_second: "fast" } });
  expect(Object.values(wrong).filter((value) => value !== undefined)).toEqual([]);
});
