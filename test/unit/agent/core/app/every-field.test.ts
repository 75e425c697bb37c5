import { describe, expect, test } from "vitest";
import { adopt } from "../../../../../src/agent/core/app/adopt.ts";
import { extrasOf, LABELS } from "../../../../../src/agent/core/app/container.ts";
import { toSecretsLabel } from "../../../../../src/agent/core/app/secrets.ts";
import type { ContentKey, TakeFiles } from "../../../../../src/agent/core/app/files.ts";
import { mergeSpec } from "../../../../../src/agent/core/deployment/accept.ts";
import { hashSpec } from "../../../../../src/agent/steps/create.ts";
import { ADDED_FIELDS, withoutUnknownNulls } from "../../../../../src/protocol/apps/added-fields.ts";
import type { StoredFile } from "../../../../../src/protocol/apps/app-files.ts";
import { type AppSpec, parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";
import { bindsOf } from "../../../../../src/protocol/apps/volume-fields.ts";
import { requiredFeatures } from "../../../../../src/protocol/link/features.ts";
import { APP_FIELDS, DEFAULTS, everyChange, EXTRA_FIELDS, FULL } from "../../../../support/every-field.ts";

const MINIMAL = parsed({ name: "app", image: "example/app:1" });

function parsed(input: unknown): AppSpec {
  const result = parseAppSpec(input);
  if (!result.ok) throw result.error;
  return result.spec;
}

function merged(spec: AppSpec, patch: object): AppSpec {
  const result = mergeSpec(spec, patch, takeFiles);
  if (!result.ok) throw result.error;
  return result.spec;
}

/** A request has the content of a file where a record has its size, hash and id: here, those stand in for it. */
const takeFiles: TakeFiles = (requested) =>
  requested.map(({ target, content = "", mode = "", owner = "", secret = false }) => {
    return { target, ...(JSON.parse(content) as ContentKey), mode, owner, secret };
  });

function requested(field: string, value: unknown): unknown {
  if (field !== "files") return value;
  return (value as StoredFile[]).map(({ size, sha256, secret_id, ...file }) => {
    return Object.assign({ content: JSON.stringify({ size, sha256, secret_id }) }, file);
  });
}

/** Returns the specification that the agent reads back from a container of the app. */
function adopted(spec: AppSpec): AppSpec | undefined {
  const found = {
    app: spec.name,
    deploymentId: "d1",
    containerId: "c1",
    image: spec.image,
    imageId: "i1",
    environment: spec.environments.map(({ key, value }) => `${key}=${value}`),
    ports: spec.ports.map(({ host_port, target_port, protocol, host_address }) => ({
      hostPort: host_port,
      targetPort: target_port,
      ...(protocol && { protocol }),
      ...(host_address !== undefined && { hostAddress: host_address }),
    })),
    volumes: [
      ...bindsOf(spec).map(({ local, target, readonly }) => ({ local, target, readonly })),
      ...(spec.files ?? []).map(({ target }) => ({ local: "/var/lib/edge-agent/files/0", target, readonly: true })),
    ],
    hostNetwork: spec.host_network,
    privileged: spec.privileged,
    labels: {
      [LABELS.extras]: JSON.stringify(extrasOf(spec)),
      [LABELS.secretVariables]: toSecretsLabel(spec),
    },
    imageLabels: {},
  };
  return adopt(found, (candidate) => hashSpec(candidate) === hashSpec(spec))?.spec;
}

describe("every field of an app", () => {
  test("is accepted by the schema, which changes none", () => {
    expect(parsed(FULL)).toEqual(FULL);
  });

  test.each(everyChange())("changes the hash: $path", ({ spec }) => {
    expect(parsed(spec)).toEqual(spec);
    expect(hashSpec(spec)).not.toBe(hashSpec(FULL));
  });

  test.each(everyChange())("is read back from a container: $path", ({ spec }) => {
    // Without the fields whose value means the same as their absence.
    expect(adopted(spec)).toEqual(withoutUnknownNulls(spec, () => false));
  });

  test.each(APP_FIELDS.filter((field) => DEFAULTS[field] !== undefined))("%s by default is as if absent", (field) => {
    expect(hashSpec(parsed({ ...MINIMAL, [field]: DEFAULTS[field] }))).toBe(hashSpec(MINIMAL));
  });

  test.each(everyChange().filter(({ field }) => field !== "name"))("is changed by an update: $path", (change) => {
    const { field, spec } = change;
    expect(merged(FULL, { [field]: requested(field, spec[field]) })).toEqual(spec);
  });

  test.each(EXTRA_FIELDS)("%s is absent unless given, and removed by null", (field) => {
    expect(MINIMAL).not.toHaveProperty(field);
    const { [field]: _removed, ...rest } = FULL;
    expect(merged(FULL, { [field]: null })).toEqual(rest);
  });

  test("that an earlier protocol version does not have is required of the device", () => {
    const command = { action: "deploy", options: {}, hasRegistryAuth: false } as const;
    // A request has contents, which the device keeps apart.
    const files = FULL.files.map((file) => ({ ...file, content_gzip: "H4sI" }));
    const required = requiredFeatures({ ...command, spec: { ...FULL, files } });
    const listed = Object.entries(ADDED_FIELDS).flatMap(([place, fields]) =>
      Object.entries(fields).map(([name, feature]) => ({ feature, usedBy: pathOf(place, name) })),
    );
    expect(required.toSorted(byUse)).toEqual(listed.toSorted(byUse));
    expect(requiredFeatures({ ...command, spec: MINIMAL })).toEqual([]);
  });
});

function pathOf(place: string, name: string): string {
  if (place === "app") return name;
  const isList = Array.isArray((FULL as Readonly<Record<string, unknown>>)[place]);
  return `${place}${isList ? "[]" : ""}.${name}`;
}

function byUse(left: { readonly usedBy: string }, right: { readonly usedBy: string }): number {
  return left.usedBy < right.usedBy ? -1 : 1;
}
