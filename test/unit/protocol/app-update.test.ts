import { describe, expect, it } from "vitest";
import { parseAppUpdate } from "../../../src/protocol/apps/app-update.ts";

const issuesOf = (input: unknown): unknown => {
  const parsed = parseAppUpdate(input);
  return parsed.ok ? [] : parsed.error.details?.["issues"];
};

describe("the update of an app", () => {
  it("fills nothing in: what is left out keeps its value", () => {
    expect(parseAppUpdate({ image: "example/app:2" })).toEqual({ ok: true, update: { image: "example/app:2" } });
    expect(parseAppUpdate({})).toEqual({ ok: true, update: {} });
  });

  it("takes an empty list and null for what they say", () => {
    const update = { environments: [], ports: [], volumes: [], command: null, memory_limit: null, devices: null };
    expect(parseAppUpdate(update)).toEqual({ ok: true, update });
  });

  it.each([
    [{ name: "other" }, "name"],
    [{ image: "" }, "image"],
    [{ image: null }, "image"],
    [{ environments: null }, "environments"],
    [{ unheard_of: 1 }, "unheard_of"],
    [{ volumes: [{ local: "/a", target: "/" }] }, "volumes[0].target"],
    [7, ""],
  ])("refuses %j at %s", (input, path) => {
    expect(issuesOf(input)).toEqual([expect.objectContaining({ path })]);
  });

  it("takes a secret without a value, which keeps it, and no other variable", () => {
    const update = { environments: [{ key: "PASSWORD", secret: true }] };
    expect(parseAppUpdate(update)).toEqual({ ok: true, update });
    for (const entry of [{ key: "PASSWORD" }, { key: "PASSWORD", secret: false }]) {
      expect(issuesOf({ environments: [entry] })).toEqual([
        { path: "environments[0].value", reason: "is missing; only a secret may omit it, to keep it" },
      ]);
    }
    expect(issuesOf({ environments: [{ key: "A", secret: 1 }] })).toEqual([
      expect.objectContaining({ path: "environments[0].secret" }),
    ]);
    const twice = [
      { key: "A", secret: true },
      { key: "A", value: "" },
    ];
    expect(issuesOf({ environments: twice })).toEqual([
      { path: "environments[1].key", reason: "the key appears twice" },
    ]);
  });

  it("says why a name is refused", () => {
    expect(issuesOf({ name: "other" })).toEqual([
      { path: "name", reason: "the name of an app cannot change; deploy under the new name and remove this one" },
    ]);
  });
});
