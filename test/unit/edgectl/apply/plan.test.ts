import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mergeSpec } from "../../../../src/agent/core/deployment/accept.ts";
import { diffApp } from "../../../../src/edgectl/apply/diff.ts";
import { planApp, secretsToGive, updateFor } from "../../../../src/edgectl/apply/plan.ts";
import { type AppSpec, appSpecSchema } from "../../../../src/protocol/apps/app-spec.ts";
import { renderPlan } from "../../../../src/edgectl/views/plan-view.ts";
import { createTheme } from "../../../../src/lib/terminal/theme.ts";
import { MemoryOutput } from "../../../support/edgectl/memory-output.ts";

const PLAIN = createTheme(new MemoryOutput(), { LC_ALL: "C.UTF-8" });
const HIDDEN = { showValues: false };
const REVEALED = { showValues: true };

function spec(fields: Record<string, unknown> = {}): AppSpec {
  return appSpecSchema.parse({ name: "web", image: "web:1", ...fields });
}

const fields = fc.record(
  {
    image: fc.constantFrom("web:1", "web:2"),
    host_network: fc.boolean(),
    privileged: fc.boolean(),
    environments: fc.uniqueArray(
      fc.record({ key: fc.constantFrom("A", "B", "C.D"), value: fc.constantFrom("", "x") }),
      {
        selector: ({ key }) => key,
      },
    ),
    ports: fc.array(
      fc.record(
        {
          host_port: fc.constantFrom(30_080, 30_081, 30_082),
          target_port: fc.constantFrom(80, 81),
          protocol: fc.constantFrom("tcp", "udp"),
        },
        { requiredKeys: ["host_port", "target_port"] },
      ),
      { maxLength: 4 },
    ),
    volumes: fc.uniqueArray(
      fc.record({ local: fc.constantFrom("/a", "/a/"), target: fc.constantFrom("/x", "/y"), readonly: fc.boolean() }),
      { selector: ({ target }) => target },
    ),
    command: fc.constantFrom(["a"], ["a", "b"]),
    cpu_limit: fc.constantFrom(0.5, 2),
    memory_limit: fc.constantFrom(2 ** 26, 2 ** 27),
    devices: fc.constantFrom([], [{ local: "/dev/a" }], [{ local: "/dev/a", target: "/dev/b", permissions: "rw" }]),
    healthcheck: fc.constantFrom({ command: ["true"] }, { command: ["true"], retries: 5 }),
    restart_policy: fc.constantFrom("always", "no", "unless-stopped"),
    pull: fc.constant("missing"),
    health_timeout_s: fc.constantFrom(60, 300),
    project: fc.constantFrom("line-3", "line-4"),
  },
  { requiredKeys: [] },
);

describe("the plan for an app", () => {
  test("an update of what differs makes the app as its file says", () => {
    fc.assert(
      fc.property(fields, fields, (before, after) => {
        const [current, desired] = [spec(before), spec(after)];
        const merged = mergeSpec(current, updateFor(desired, current));
        if (!merged.ok) throw merged.error;
        expect(diffApp(merged.spec, desired, REVEALED)).toEqual([]);
      }),
    );
  });

  test("nothing differs from itself, in any order of entries and with defaults left out", () => {
    fc.assert(
      fc.property(fields, (given) => {
        const current = spec(given);
        const reversed = { ...current, ports: current.ports.toReversed(), volumes: current.volumes.toReversed() };
        expect(planApp(spec(given), reversed, HIDDEN)).toMatchObject({ change: "none", fields: [] });
        expect(planApp(spec(given), { name: "web", image: "web:1", ...given }, HIDDEN).change).toBe("none");
      }),
    );
  });

  test("what the app has beyond the file is taken away, and said", () => {
    const current = spec({ memory_limit: 2 ** 28, devices: [{ local: "/dev/a" }], restart_policy: "always" });
    expect(planApp(spec(), current, HIDDEN)).toEqual({
      app: "web",
      change: "update",
      fields: [
        { field: "memory_limit", change: "remove", old: 2 ** 28 },
        { field: "devices./dev/a", change: "remove", old: { local: "/dev/a" } },
        { field: "restart_policy", change: "remove", old: "always" },
      ],
      unknown_fields: [],
    });
    expect(updateFor(spec(), current)).toMatchObject({ memory_limit: null, devices: null, restart_policy: null });
  });

  test("an app stays in its project unless the file names another", () => {
    const current = spec({ project: "line-3" });
    expect(planApp(spec(), current, HIDDEN).change).toBe("none");
    expect(updateFor(spec(), current)).not.toHaveProperty("project");
    const desired = spec({ project: "line-4" });
    expect(planApp(desired, current, HIDDEN).fields).toMatchObject([{ field: "project", change: "change" }]);
    expect(updateFor(desired, current)).toMatchObject({ project: "line-4" });
  });

  test("the image is named only where it differs, and no field is cleared that the app does not have", () => {
    const update = updateFor(spec({ privileged: true }), spec());
    expect(update).toEqual({
      host_network: false,
      privileged: true,
      environments: [],
      ports: [],
      volumes: [],
    });
    expect(updateFor(spec({ image: "web:2" }), spec())).toMatchObject({ image: "web:2" });
  });

  test("an image whose tag is to be looked up is named, also where nothing else differs", () => {
    const desired = spec({ pull: "changed" });
    expect(planApp(desired, desired, HIDDEN)).toMatchObject({
      change: "update",
      fields: [{ field: "image", change: "check" }],
    });
    expect(updateFor(desired, desired)).toMatchObject({ image: "web:1", pull: "changed" });
    expect(planApp(spec({ pull: "missing" }), spec({ pull: "missing" }), HIDDEN).change).toBe("none");
    expect(updateFor(spec(), spec({ pull: "always" }))).toMatchObject({ pull: null });
  });

  test("a field of a newer device is named, and left alone", () => {
    const plan = planApp(spec(), { ...spec(), sidecar: { image: "x" } }, HIDDEN);
    expect(plan).toMatchObject({ change: "none", unknown_fields: ["sidecar"] });
    expect(updateFor(spec(), { ...spec(), sidecar: {} })).not.toHaveProperty("sidecar");
  });
});

describe("a secret without a value in the file", () => {
  const kept = spec({ environments: [{ key: "TOKEN", value: "***", secret: true }] });

  test("keeps the one on the device, also where it was not declared a secret", () => {
    for (const before of [{ secret: true, value: "***" }, { value: "plain" }]) {
      const current = { ...spec(), environments: [{ key: "TOKEN", ...before }] };
      expect(secretsToGive(kept, current)).toEqual([]);
      expect(updateFor(kept, current)).toMatchObject({ environments: [{ key: "TOKEN", secret: true }] });
      expect(JSON.stringify(updateFor(kept, current))).not.toContain("***");
    }
    expect(planApp(kept, kept, HIDDEN).change).toBe("none");
    expect(planApp(kept, spec({ environments: [{ key: "TOKEN", value: "plain" }] }), REVEALED).fields).toEqual([
      { field: "environments.TOKEN.secret", change: "change", old: false, new: true },
    ]);
  });

  test("is missing where the device has none", () => {
    expect(secretsToGive(kept, undefined)).toEqual(["TOKEN"]);
    expect(secretsToGive(kept, spec())).toEqual(["TOKEN"]);
  });
});

describe("values in the difference", () => {
  const current = {
    ...spec(),
    environments: [
      { key: "LEVEL", value: "info" },
      { key: "OLD", value: "planted-old" },
      { key: "TOKEN", value: "***", secret: true },
    ],
  };
  const desired = {
    ...spec(),
    environments: [
      { key: "LEVEL", value: "debug" },
      { key: "TOKEN", value: "planted-token", secret: true },
      { key: "KEY", value: "planted-key", secret: true },
    ],
  };

  test("of variables are not shown", () => {
    const changes = diffApp(current, desired, HIDDEN);
    expect(changes.map(({ field, change }) => `${change} ${field}`)).toEqual([
      "change environments.LEVEL",
      "remove environments.OLD",
      "check environments.TOKEN",
      "add environments.KEY",
    ]);
    expect(JSON.stringify(changes)).not.toMatch(/planted|info|debug/);
  });

  test("of declared secrets are not shown on request either", () => {
    const changes = diffApp(current, desired, REVEALED);
    expect(changes[0]).toEqual({ field: "environments.LEVEL", change: "change", old: "info", new: "debug" });
    expect(changes[1]).toMatchObject({ old: "planted-old" });
    expect(JSON.stringify(changes)).not.toMatch(/planted-token|planted-key/);
  });

  test("a variable that becomes a secret is a change, and is hidden at once", () => {
    const [before, after] = [
      { key: "A", value: "planted-1" },
      { key: "A", value: "planted-2", secret: true },
    ];
    const changes = diffApp({ environments: [before] }, { environments: [after] }, REVEALED);
    expect(changes).toEqual([
      { field: "environments.A", change: "change", note: "secret" },
      { field: "environments.A.secret", change: "change", old: false, new: true },
    ]);
  });
});

function text(current: Record<string, unknown> | undefined, desired: AppSpec): string {
  return renderPlan([planApp(desired, current && spec(current), HIDDEN)], PLAIN);
}

describe("the difference for people", () => {
  test("is one line per field, old and new", () => {
    const before = {
      memory_limit: 2 ** 28,
      ports: [{ host_port: 30_080, target_port: 80 }],
      volumes: [{ local: "/a", target: "/x" }],
      environments: [{ key: "A", value: "1" }],
      command: ["serve"],
    };
    const after = spec({
      image: "web:2",
      memory_limit: 2 ** 28 + 1,
      ports: [
        { host_port: 30_090, target_port: 80 },
        { host_port: 30_053, target_port: 53, protocol: "udp" },
      ],
      volumes: [{ local: "/a", target: "/x", readonly: true }],
      environments: [{ key: "A", value: "2" }],
      healthcheck: { command: ["true"] },
    });
    expect(text(before, after).split("\n")).toEqual([
      "web: changes",
      "  ~ image                       web:1 -> web:2",
      "  ~ environments.A              (value not shown; --reveal shows it)",
      "  ~ ports.80/tcp                30080:80 -> 30090:80",
      "  + ports.53/udp                30053:53/udp",
      "  ~ volumes./x                  /a:/x -> /a:/x:ro",
      '  - command                     ["serve"]',
      "  ~ memory_limit                256 MiB -> 268.4 MB (268435457)",
      '  + healthcheck.command         ["true"]',
      "  + healthcheck.interval_s      30",
      "  + healthcheck.timeout_s       30",
      "  + healthcheck.retries         3",
      "  + healthcheck.start_period_s  0",
    ]);
  });

  test("says that an app is new, or that nothing changes", () => {
    expect(text(undefined, spec())).toBe("web: new\n  + image  web:1");
    expect(text({}, spec())).toBe("web: nothing to change");
  });

  test("two host ports of one port are two lines, and control characters are escaped", () => {
    const ports = [
      { host_port: 30_080, target_port: 80 },
      { host_port: 30_081, target_port: 80 },
    ];
    const shown = text(undefined, spec({ ports, command: ["\u001B[2J\nforged"] }));
    expect(shown).toContain("+ ports.80/tcp    30080:80\n");
    expect(shown).toContain("+ ports.80/tcp#2  30081:80\n");
    expect(shown).not.toContain("\u001B");
    expect(shown).not.toMatch(/^forged/m);
  });
});

test("a secret is in no difference, wherever the file has put it, and the same secret makes none", () => {
  const file = spec({
    environments: [
      { key: "TOKEN", value: "s3cret-token", secret: true },
      { key: "DSN", value: "https://u:s3cret-token@db" },
    ],
    command: ["serve", "--token=s3cret-token"],
    labels: { "com.example.token": "s3cret-token" },
  });
  for (const current of [{}, spec({ command: ["serve", "--token=s3cret-token"] })])
    expect(JSON.stringify(diffApp(current, file, REVEALED))).not.toContain("s3cret");
  // As the device returns it.
  const reported = {
    ...file,
    environments: file.environments.map(({ key }) => ({ key, value: "***", secret: true })),
    command: ["serve", "--token=***"],
    labels: { "com.example.token": "***" },
  };
  expect(diffApp(reported, file, REVEALED).map(({ field, change }) => [field, change])).toEqual([
    ["environments.DSN", "check"],
    ["environments.TOKEN", "check"],
  ]);
});
