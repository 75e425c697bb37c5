import { describe, expect, test } from "vitest";
import { sharedName } from "../../../src/protocol/apps/app-network.ts";
import { applyRequestSchema, applySchema, MAX_APPLY_APPS, MAX_KEPT_IMAGES } from "../../../src/protocol/apps/apply.ts";
import { listIssues } from "../../../src/protocol/errors/request-error.ts";

const APPS = [{ app: { name: "web", image: "web:1" } }];
const FLEET = { fleet: { name: "kiosks", revision: 1 } };
const imageOf = (index: number): string => `app@sha256:${String(index).padStart(64, "0")}`;

/** What the schema of what is sent to devices refuses. */
function problems(fields: object): { path: string; reason: string }[] {
  const parsed = applySchema.safeParse({ project: "line", apps: APPS, ...fields });
  return parsed.success ? [] : listIssues(parsed.error, applySchema).map(({ path, reason }) => ({ path, reason }));
}

test("no two apps of an apply have names that differ only in case", () => {
  const path = "apps[1].app.name";
  const apps = [...APPS, { app: { name: "Web", image: "web:1" } }];
  expect(problems({ apps })).toEqual([{ path, reason: "the names web and Web differ only in case" }]);
  expect(problems({ apps: [...APPS, ...APPS] })).toEqual([{ path, reason: "the name web appears twice" }]);
});

const app = (name: string, more: object = {}) => ({ app: { name, image: "a:1", ...more } });

const writer = (name: string, shared: boolean) =>
  app(name, { volumes: [{ name: "d", target: "/d", ...(shared && { shared }) }] });

describe("names beside an app's own", () => {
  test.each<[string, object[], string | undefined]>([
    ["that of another app", [app("db"), app("web", { aliases: ["DB"] })], "apps[1].app.aliases"],
    ["that of a later app", [app("web", { aliases: ["db"] }), app("db")], "apps[0].app.aliases"],
    ["one of another app's", [app("a", { aliases: ["x"] }), app("b", { aliases: ["x"] })], "apps[1].app.aliases"],
    ["free", [app("db"), app("web", { aliases: ["www"] })], undefined],
    [
      "of an app elsewhere",
      [app("db", { networks: ["a"] }), app("web", { aliases: ["db"], networks: ["b"] })],
      undefined,
    ],
    [
      "of an app on the host's network",
      [app("db", { host_network: true }), app("web", { aliases: ["db"] })],
      undefined,
    ],
  ])("may be %s or not", (_, apps, path) => {
    expect(problems({ apps }).map((problem) => problem.path)).toEqual(path === undefined ? [] : [path]);
  });
});

test("an app that others wait for to complete may end by itself", () => {
  const waiting = { ...app("web"), depends_on: [{ app: "job", condition: "completed" }] };
  expect(problems({ apps: [waiting, app("job", { restart_policy: "no" })] })).toEqual([]);
  expect(problems({ apps: [waiting, app("job")] })).toMatchObject([{ path: "apps[0].depends_on[0].condition" }]);
});

test("an app with the network of another one of its group is changed after it, and not without it", () => {
  const client = app("client", { network: "app:vpn" });
  const after = { ...client, depends_on: [{ app: "vpn" }] };
  const at = "apps[0].app.network";
  expect(problems({ apps: [after, app("vpn")] })).toEqual([]);
  // It may be on the device already, which knows.
  expect(problems({ apps: [client] })).toEqual([]);
  expect(problems({ apps: [client, app("vpn")] })).toMatchObject([{ path: at }]);
  expect(problems({ apps: [after, app("vpn", { network: "app:other" })] })).toMatchObject([{ path: at }]);
  expect(problems({ apps: [client], remove: ["vpn"] })).toMatchObject([{ path: at }]);
});

const on = (name: string, isInternal: boolean) =>
  app(name, { networks: ["back"], ...(isInternal && { internal_networks: ["back"] }) });

describe("a network", () => {
  test.each<[string, object[], string[]]>([
    ["is internal for all", [on("a", true), on("b", true)], []],
    ["is internal for none", [on("a", false), on("b", false)], []],
    ["is internal for some", [on("a", true), on("b", false), on("c", true)], ["apps[1].app.internal_networks"]],
    [
      "is external for some",
      [app("a", { networks: ["back"], external_networks: ["back"] }), on("b", false)],
      ["apps[1].app.external_networks"],
    ],
  ])("that %s of its apps is refused where they would not meet", (_, apps, paths) => {
    expect(problems({ apps }).map(({ path }) => path)).toEqual(paths);
  });

  test("does not share its names with the internal one of the same name", () => {
    const one = { name: "a", aliases: ["x"], networks: ["back"] };
    const inner = { ...one, internal_networks: ["back"] };
    expect(sharedName(inner, { ...one, name: "b" })).toBeUndefined();
    expect(sharedName(inner, { ...inner, name: "b" })).toBe("x");
  });
});

describe("a volume with several writers", () => {
  test("is one that all of them share", () => {
    expect(problems({ apps: [writer("a", true), writer("b", true)] })).toEqual([]);
    for (const apps of [
      [writer("a", true), writer("b", false)],
      [writer("a", false), writer("b", true)],
    ]) {
      expect(problems({ apps })).toMatchObject([{ path: "apps[1].app.volumes[0].name" }]);
    }
  });
});

describe("an apply that removes apps", () => {
  test("may have no others", () => {
    expect(problems({ apps: [], remove: ["db"] })).toEqual([]);
    expect(problems({ apps: [] })).toEqual([{ path: "apps", reason: "must not be empty" }]);
    expect(problems({ apps: [], remove: [] })).toContainEqual({ path: "remove", reason: "must not be empty" });
  });

  test("names each once, and none that it applies", () => {
    expect(problems({ remove: ["db", "web"] })).toEqual([{ path: "remove[1]", reason: "web is in apps too" }]);
    expect(problems({ remove: ["db", "db"] })).toEqual([{ path: "remove[1]", reason: "the name db appears twice" }]);
    expect(problems({ remove: ["../db"] })).toMatchObject([{ path: "remove[0]" }]);
    const many = Array.from({ length: MAX_APPLY_APPS + 1 }, (_, index) => `app-${index}`);
    expect(problems({ remove: many.slice(1) })).toEqual([]);
    expect(problems({ remove: many })).toMatchObject([{ path: "remove" }]);
  });
});

describe("what only the control plane sets", () => {
  test("is no field of a client's request, which may remove apps", () => {
    const request = { project: "line", apps: APPS, remove: ["db"] };
    expect(applyRequestSchema.safeParse(request).success).toBe(true);
    for (const fields of [FLEET, { keep_images: [] }]) {
      expect(applyRequestSchema.safeParse({ ...request, ...fields }).success).toBe(false);
    }
  });

  test("is a fleet with a revision, and images by digest, which need the fleet", () => {
    expect(problems({ ...FLEET, keep_images: [imageOf(1)] })).toEqual([]);
    expect(problems({ keep_images: [imageOf(1)] })).toEqual([{ path: "keep_images", reason: "needs fleet" }]);
    expect(problems({ ...FLEET, keep_images: ["app:1"] })).toMatchObject([{ path: "keep_images[0]" }]);
    expect(problems({ fleet: { name: "kiosks", revision: 0 } })).toMatchObject([{ path: "fleet.revision" }]);
    const many = Array.from({ length: MAX_KEPT_IMAGES + 1 }, (_, index) => imageOf(index));
    expect(problems({ ...FLEET, keep_images: many.slice(1) })).toEqual([]);
    expect(problems({ ...FLEET, keep_images: many })).toMatchObject([{ path: "keep_images" }]);
  });
});
