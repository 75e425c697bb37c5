import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeSpec } from "../../../../../src/agent/core/deployment/accept.ts";
import { replacementOf } from "../../../../../src/protocol/apps/app-update.ts";
import { type AppSpec, parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";

function spec(fields: Record<string, unknown> = {}): AppSpec {
  const parsed = parseAppSpec({ name: "app", image: "example/app:1", ...fields });
  if (!parsed.ok) throw parsed.error;
  return parsed.spec;
}

const A = { key: "A", value: "1" };

function merged(current: AppSpec, patch: unknown): AppSpec {
  const parsed = mergeSpec(current, patch);
  if (!parsed.ok) throw parsed.error;
  return parsed.spec;
}

const key = fc.stringMatching(/^[A-Z_]{1,8}$/);
const variable = fc.record(
  { key, value: fc.stringMatching(/^[ -~]{0,12}$/), secret: fc.boolean() },
  { requiredKeys: ["key", "value"] },
);
const environments = fc.uniqueArray(variable, {
  selector: (entry) => entry.key,
  maxLength: 4,
});
const ports = fc.array(
  fc.record({ host_port: fc.integer({ min: 30_000, max: 32_767 }), target_port: fc.integer({ min: 1, max: 65_535 }) }),
  { maxLength: 3 },
);
const volumes = fc.uniqueArray(
  fc.record({ local: fc.constant("/data"), target: fc.stringMatching(/^\/[a-z]{1,8}$/), readonly: fc.boolean() }),
  { selector: ({ target }) => target, maxLength: 3 },
);
const fields = fc.record(
  {
    image: fc.constantFrom("example/app:2", "registry.example.com/a/b:latest"),
    host_network: fc.boolean(),
    privileged: fc.boolean(),
    environments,
    ports,
    volumes,
    command: fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 3 }),
    cpu_limit: fc.constantFrom(0.5, 2),
    memory_limit: fc.constantFrom(64 * 1024 * 1024),
    restart_policy: fc.constantFrom("always", "on-failure"),
    devices: fc.constant([{ local: "/dev/ttyUSB0" }]),
    healthcheck: fc.constant({ command: ["true"] }),
  },
  { requiredKeys: [] },
);

describe("a patch", () => {
  it("changes the fields it names, wholly, and no others", () => {
    fc.assert(
      fc.property(fields, fields, (before, patch) => {
        expect(merged(spec(before), patch)).toEqual(spec({ ...before, ...patch }));
      }),
    );
  });

  it("comes to the same when it is merged again", () => {
    fc.assert(
      fc.property(fields, fields, (before, patch) => {
        const once = merged(spec(before), patch);
        expect(merged(once, patch)).toEqual(once);
      }),
    );
  });

  it("that is empty changes nothing", () => {
    fc.assert(
      fc.property(fields, (before) => {
        expect(merged(spec(before), {})).toEqual(spec(before));
      }),
    );
  });

  it("that replaces the app makes it as the new specification says, whatever it was", () => {
    fc.assert(
      fc.property(fields, fields, (before, after) => {
        expect(merged(spec(before), replacementOf(spec(after)))).toEqual(spec(after));
      }),
    );
  });

  it("clears a list by an empty one, and what is absent by default by null", () => {
    const full = spec({
      environments: [{ key: "A", value: "1" }],
      ports: [{ host_port: 30_080, target_port: 80 }],
      devices: [{ local: "/dev/ttyUSB0" }],
      memory_limit: 64 * 1024 * 1024,
      command: ["serve"],
    });
    const patch = { environments: [], ports: [], devices: [], memory_limit: null, command: null };
    expect(merged(full, patch)).toEqual(spec());
  });

  it("keeps the value of a secret that gives none, or the mask that stands for it in answers", () => {
    const before = spec({
      environments: [
        { key: "PASSWORD", value: "s3cret", secret: true },
        { key: "TOKEN", value: "t0ken" },
      ],
    });
    const patch = {
      environments: [{ key: "PASSWORD", value: "***", secret: true }, { key: "TOKEN", secret: true }, A],
    };
    expect(merged(before, patch).environments).toEqual([
      { key: "PASSWORD", value: "s3cret", secret: true },
      { key: "TOKEN", value: "t0ken", secret: true },
      A,
    ]);
    // Only a secret's: other values are what they are.
    expect(merged(before, { environments: [{ key: "TOKEN", value: "***" }] }).environments).toEqual([
      { key: "TOKEN", value: "***" },
    ]);
    const changed = { environments: [{ key: "PASSWORD", value: "new", secret: true }] };
    expect(merged(before, changed).environments).toEqual(changed.environments);
  });

  it("is refused if it gives no value for a secret that the app does not have", () => {
    const parsed = mergeSpec(spec(), { environments: [A, { key: "PASSWORD", secret: true }] });
    expect(parsed).toMatchObject({
      ok: false,
      error: {
        code: "InvalidRequest",
        details: {
          issues: [
            {
              path: "environments[1].value",
              reason: "is missing, and the app has no variable of this key whose value could stay",
            },
          ],
        },
      },
    });
  });

  it("may name the app it is for", () => {
    expect(merged(spec(), { name: "app", privileged: true })).toEqual(spec({ privileged: true }));
  });

  it.each([
    [{ name: "other" }, "name"],
    [{ name: null }, "name"],
    [{ image: null }, "image"],
    [{ image: "Not An Image" }, "image"],
    [{ bogus: null }, "bogus"],
    [{ ports: "all" }, "ports"],
    [{ ports: [{ host_port: 30_080 }] }, "ports[0].target_port"],
    [[], ""],
    ["text", ""],
    [null, ""],
  ])("%j is refused, and the field is named", (patch, path) => {
    const parsed = mergeSpec(spec(), patch);
    expect(parsed.ok).toBe(false);
    if (parsed.ok) return;
    expect(parsed.error).toMatchObject({ code: "InvalidRequest", details: { issues: [{ path }] } });
  });

  it("never brings a field of its own into what objects have by themselves", () => {
    const patch = JSON.parse('{"__proto__": {"privileged": true}}') as unknown;
    expect(mergeSpec(spec(), patch)).toMatchObject({ ok: false, error: { code: "InvalidRequest" } });
  });
});
