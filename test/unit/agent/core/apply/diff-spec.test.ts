import fc from "fast-check";
import { expect, it, test } from "vitest";
import { diffSpec } from "../../../../../src/agent/core/apply/diff-spec.ts";
import { canonicalSpec } from "../../../../../src/agent/core/app/container.ts";
import type { AppSpec } from "../../../../../src/protocol/apps/app-spec.ts";
import { APP_FIELDS, everyChange, EXTRA_FIELDS, FULL } from "../../../../support/every-field.ts";

test.each(everyChange().filter(({ field }) => field !== "name"))("a change of $path is found", ({ field, spec }) => {
  const found = diffSpec(FULL, spec);
  expect(found.length).toBeGreaterThan(0);
  for (const path of found) expect(path.split(".")[0]).toBe(field);
});

test.each(EXTRA_FIELDS)("the removal of %s is found", (field) => {
  const { [field]: _removed, ...rest } = FULL;
  const found = diffSpec(FULL, rest as AppSpec);
  expect(found.map((path) => path.split(".")[0])).toEqual([field]);
});

it("names entries of lists, and never a value", () => {
  const [before, after]: AppSpec[] = [
    {
      ...FULL,
      environments: [
        { key: "A", value: "planted-1", secret: true },
        { key: "B", value: "planted-2" },
      ],
    },
    {
      ...FULL,
      environments: [
        { key: "B", value: "planted-3" },
        { key: "C", value: "planted-4" },
      ],
      ports: [],
    },
  ];
  const found = diffSpec(before as AppSpec, after as AppSpec);
  expect(found).toEqual(["environments.A", "environments.B", "environments.C", "ports.30053/udp"]);
  expect(JSON.stringify(found)).not.toContain("planted");
});

it("finds another order of the same entries", () => {
  const environments = [
    { key: "A", value: "1" },
    { key: "B", value: "2" },
  ];
  expect(diffSpec({ ...FULL, environments }, { ...FULL, environments: environments.toReversed() })).toEqual([
    "environments",
  ]);
});

/** Returns the first app with some fields of the second. */
function mixed([base, other, fields]: [AppSpec, AppSpec, (keyof AppSpec)[]]): AppSpec {
  const changed = Object.fromEntries(fields.map((field) => [field, other[field]]));
  return { ...base, ...changed, name: FULL.name };
}

it("is empty exactly for equivalent specifications", () => {
  const variants = everyChange().map(({ spec }) => spec);
  const spec = fc.tuple(fc.constantFrom(...variants), fc.constantFrom(...variants), fc.subarray(APP_FIELDS)).map(mixed);
  fc.assert(
    fc.property(spec, spec, (before, after) => {
      expect(diffSpec(before, after).length === 0).toBe(canonicalSpec(before) === canonicalSpec(after));
    }),
  );
});
