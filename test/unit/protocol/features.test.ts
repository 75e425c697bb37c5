import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ADDED_FIELDS, addedFieldsIn, withoutUnknownNulls } from "../../../src/protocol/apps/added-fields.ts";
import { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";
import { appUpdateSchema } from "../../../src/protocol/apps/app-update.ts";
import { progressDetails } from "../../../src/protocol/deployments/deployment-event.ts";
import { supports } from "../../../src/protocol/link/features.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/version.ts";

/**
 * The fields of an app by where they are, as of the protocol version that introduced the place. These lists never change:
 * a field that is added later belongs into `ADDED_FIELDS`.
 */
const FIRST_FIELDS: Readonly<Record<string, readonly string[]>> = {
  // Version 1.
  app: ["name", "image", "host_network", "privileged", "environments", "ports", "volumes"],
  environments: ["key", "value"],
  ports: ["host_port", "target_port"],
  volumes: ["local", "target", "readonly"],
  // Version 2.
  devices: ["local", "target", "permissions"],
  healthcheck: ["command", "interval_s", "timeout_s", "retries", "start_period_s"],
  // Version 3.
  tmpfs: ["target", "size_bytes", "mode"],
  ulimits: ["name", "soft", "hard"],
  extra_hosts: ["name", "address"],
  log: ["max_bytes", "max_files"],
  gpus: ["ids"],
};

/** Files have contents in a request, and hashes in what the device keeps and reports. Since version 3. */
const FILE_FIELDS = ["target", "mode", "owner", "secret"];
const STORED_FILE_FIELDS = [...FILE_FIELDS, "size", "sha256", "secret_id"];
const REQUESTED_FILE_FIELDS = [...FILE_FIELDS, "content", "content_base64"];

const INTRODUCED = {
  appCommands: 2,
  deployOptions: 2,
  extraAppFields: 2,
  queries: 2,
  reports: 2,
  declaredSecrets: 3,
  pullPolicy: 3,
  healthTimeout: 3,
  containerOptions: 3,
  apply: 3,
  appStats: 3,
  previousLog: 3,
  networks: 3,
  namedVolumes: 3,
  volumeOwners: 3,
  volumeQueries: 3,
  files: 3,
  streams: 3,
  groupRemovals: 4,
  fleets: 4,
  secretParts: 4,
  composeOptions: 5,
} as const;

test("a peer has the features of its protocol version and of those before", () => {
  for (const [feature, introduced] of Object.entries(INTRODUCED) as [keyof typeof INTRODUCED, number][]) {
    for (let version = 1; version <= PROTOCOL_VERSION; version += 1) {
      expect(supports(version, feature), `${feature} in version ${version}`).toBe(version >= introduced);
    }
  }
});

describe("the fields of an app", () => {
  test.each([
    // What the device keeps of a file has no content.
    ["an app", appSpecSchema, STORED_FILE_FIELDS, { ...ADDED_FIELDS, files: {} }],
    ["an update", appUpdateSchema, REQUESTED_FILE_FIELDS, ADDED_FIELDS],
  ])(
    "of %s are each of the first version or listed as added, with a feature",
    (_name, schema, files, listedAsAdded) => {
      const added: Readonly<Record<string, Readonly<Record<string, string>>>> = listedAsAdded;
      const first: Readonly<Record<string, readonly string[]>> = { ...FIRST_FIELDS, files };
      const places = new Set([...Object.keys(first), ...Object.keys(added)]);
      const listed = [...places].map((place) => [
        place,
        [...(first[place] ?? []), ...Object.keys(added[place] ?? {})].toSorted(),
      ]);
      expect(fieldsByPlace(schema)).toEqual(Object.fromEntries(listed));
      for (const feature of Object.values(added).flatMap((fields) => Object.values(fields))) {
        expect(Object.keys(INTRODUCED)).toContain(feature);
      }
    },
  );

  test("that were added are found wherever they are, each once", () => {
    const spec = {
      pull: "always",
      health_timeout_s: 300,
      environments: [
        { key: "A", value: "1", secret: true },
        { key: "B", value: "2" },
        { key: "C", secret: true },
      ],
      ports: [{ host_port: 30_000, target_port: 53, protocol: "udp" }],
    };
    expect(addedFieldsIn(spec)).toEqual([
      { path: "pull", feature: "pullPolicy" },
      { path: "health_timeout_s", feature: "healthTimeout" },
      { path: "environments[].secret", feature: "declaredSecrets" },
      { path: "ports[].protocol", feature: "extraAppFields" },
    ]);
    for (const other of [undefined, null, "text", [], {}, { environments: [null, "A=1"], ports: 5 }]) {
      expect(addedFieldsIn(other), JSON.stringify(other)).toEqual([]);
    }
  });

  test("that mean the same as absence are removed for a device that does not know them, and only these", () => {
    const spec = {
      image: "web:1",
      pull: null,
      memory_limit: null,
      host_network: false,
      environments: [
        { key: "A", value: "1", secret: false },
        { key: "B", value: "2", secret: true },
      ],
    };
    expect(addedFieldsIn({ ...spec, environments: spec.environments.slice(0, 1) })).toEqual([]);
    expect(withoutUnknownNulls(spec, (feature) => supports(2, feature))).toEqual({
      image: "web:1",
      memory_limit: null,
      host_network: false,
      environments: [
        { key: "A", value: "1" },
        { key: "B", value: "2", secret: true },
      ],
    });
    expect(withoutUnknownNulls(spec, (feature) => supports(3, feature))).toEqual(spec);
    for (const other of [undefined, null, "text", [1]]) expect(withoutUnknownNulls(other, () => false)).toEqual(other);
  });
});

/** Returns the fields of each object in the schema of an app, sorted; an object in an object as `outer.inner`. */
function fieldsByPlace(schema: z.ZodType): Record<string, string[]> {
  const places: Record<string, string[]> = {};
  const visit = (type: unknown, place: string): void => {
    if (type instanceof z.ZodObject) {
      const shape = type.shape as Readonly<Record<string, unknown>>;
      places[place] = [...new Set([...(places[place] ?? []), ...Object.keys(shape)])].toSorted();
      for (const [name, field] of Object.entries(shape)) visit(field, place === "app" ? name : `${place}.${name}`);
      return;
    }
    for (const inner of innerTypes(type)) visit(inner, place);
  };
  visit(schema, "app");
  return places;
}

/** The types that a wrapper, a list, an alternative, an intersection, a map or a conversion is made of. */
function innerTypes(type: unknown): readonly unknown[] {
  if (!(type instanceof z.ZodType)) return [];
  const def: Readonly<Record<string, unknown>> = { ...type.def };
  const names = ["innerType", "element", "options", "left", "right", "items", "rest", "valueType", "in"];
  return names.flatMap((name) => def[name] ?? []);
}

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
