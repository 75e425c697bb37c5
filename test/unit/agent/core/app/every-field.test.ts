import { describe, expect, test } from "vitest";
import { adopt } from "../../../../../src/agent/core/app/adopt.ts";
import { extrasOf, LABELS } from "../../../../../src/agent/core/app/container.ts";
import { toSecretsLabel } from "../../../../../src/agent/core/app/secrets.ts";
import type { ContentKey, TakeFiles } from "../../../../../src/agent/core/app/files.ts";
import { mergeSpec } from "../../../../../src/agent/core/deployment/accept.ts";
import { hashSpec } from "../../../../../src/agent/steps/create.ts";
import type { StoredFile } from "../../../../../src/protocol/apps/app-files.ts";
import { type AppSpec, parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";
import { bindsOf } from "../../../../../src/protocol/apps/volume-fields.ts";
import { withoutAbsent } from "../../../../../src/protocol/link/features.ts";
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
  requested.map(({ target, content = "", mode = "", owner = "", secret = false, directory = false }) => {
    return { target, mode, owner, secret, directory, ...(JSON.parse(content) as ContentKey) };
  });

function requested(field: string, value: unknown): unknown {
  if (field !== "files") return value;
  return (value as StoredFile[]).map(({ size, sha256, secret_id, ...file }) => {
    const { target, directory, ...attributes } = file;
    // A request has none of a directory.
    if (directory === true)
      return { target, directory, content: JSON.stringify({ size, sha256, secret_id, ...attributes }) };
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

/** Fields that are always there, whatever their value. */
const ALWAYS_THERE = new Set(["host_network", "privileged", "volumes[].readonly", "files[].secret"]);

/** Fields whose value `false` means the same as their absence, such as `init` and `environments[].secret`. */
const OPTIONAL_FLAGS = new Set(flagsIn(FULL, "").filter((path) => !ALWAYS_THERE.has(path)));

function flagsIn(value: unknown, path: string): string[] {
  if (typeof value === "boolean") return [path];
  if (Array.isArray(value)) return value.flatMap((entry) => flagsIn(entry, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => flagsIn(inner, path === "" ? name : `${path}.${name}`));
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
    expect(adopted(spec)).toEqual(withoutAbsent(spec, OPTIONAL_FLAGS));
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
});
