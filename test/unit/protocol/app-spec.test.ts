import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalizePath } from "../../../src/protocol/values/normalize-path.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";

const MINIMAL = { name: "app", image: "example/app:1" };

const codeOf = (input: unknown): string => {
  const parsed = parseAppSpec(input);
  return parsed.ok ? "ok" : parsed.error.code;
};
const issuesOf = (fields: Record<string, unknown>): unknown => {
  const parsed = parseAppSpec({ ...MINIMAL, ...fields });
  return parsed.ok ? [] : parsed.error.details?.["issues"];
};

describe("the deployment request", () => {
  it("fills in the defaults", () => {
    const volumes = [{ local: "/a", target: "/b" }];
    expect(parseAppSpec({ ...MINIMAL, volumes })).toEqual({
      ok: true,
      spec: {
        ...MINIMAL,
        host_network: false,
        privileged: false,
        environments: [],
        ports: [],
        volumes: [{ local: "/a", target: "/b", readonly: false }],
      },
    });
  });

  it.each([
    ["ErrorNoName", { image: "x" }],
    ["ErrorNoName", { name: "", image: "x" }],
    ["ErrorNoName", { name: null, image: "x" }],
    ["ErrorNoName", {}],
    ["ErrorNoImage", { name: "app" }],
    ["ErrorNoImage", { name: "app", image: "" }],
    ["ErrorNoImage", { name: "app", image: null }],
    ["InvalidRequest", { name: 7, image: "x" }],
    ["InvalidRequest", { name: "-app", image: "x" }],
    ["InvalidRequest", { name: "a".repeat(64), image: "x" }],
    ["InvalidRequest", { name: "a b", image: "x" }],
    ["InvalidRequest", { name: "app", image: "Not A Reference" }],
    ["InvalidRequest", null],
    ["InvalidRequest", []],
    ["InvalidRequest", "text"],
    ["ok", { name: "a", image: "x" }],
    ["ok", { name: `a${"._-9".repeat(15)}Z`, image: "x" }],
  ])("%s for %j", (code, input) => {
    expect(codeOf(input)).toBe(code);
  });

  it("names every unknown field, wherever it stands", () => {
    const fields = { fleet: "x", cpu: 1, ports: [{ host_port: 30_000, target_port: 80, name: "web" }] };
    expect(issuesOf(fields)).toEqual(
      expect.arrayContaining([
        { path: "fleet", reason: "unknown field" },
        { path: "cpu", reason: "unknown field; did you mean `cpu_limit`?" },
        { path: "ports[0].name", reason: "unknown field" },
      ]),
    );
  });

  it.each([
    [{ environments: [{ key: "", value: "" }] }, "environments[0].key"],
    [{ environments: [{ key: "A=B", value: "" }] }, "environments[0].key"],
    [{ environments: [{ key: "A\0", value: "" }] }, "environments[0].key"],
    [{ environments: [{ key: "A\n", value: "" }] }, "environments[0].key"],
    [{ environments: [{ key: "A\rB", value: "" }] }, "environments[0].key"],
    [{ environments: [{ key: "\u001b[2J", value: "" }] }, "environments[0].key"],
    [{ environments: [{ key: "A\u2028B", value: "" }] }, "environments[0].key"],
    [{ environments: [{ key: "A", value: "a\0b" }] }, "environments[0].value"],
    [{ environments: [{ key: "A", value: 1 }] }, "environments[0].value"],
    [
      {
        environments: [
          { key: "A", value: "1" },
          { key: "A", value: "2" },
        ],
      },
      "environments[1].key",
    ],
    [{ ports: [{ host_port: 30_000.5, target_port: 80 }] }, "ports[0].host_port"],
    [{ ports: [{ host_port: "30000", target_port: 80 }] }, "ports[0].host_port"],
    [{ ports: [{ host_port: 30_000, target_port: 0 }] }, "ports[0].target_port"],
    [{ ports: [{ host_port: 30_000, target_port: 65_536 }] }, "ports[0].target_port"],
    [{ volumes: [{ local: "data", target: "/d" }] }, "volumes[0].local"],
    [{ volumes: [{ local: "/a/../b", target: "/d" }] }, "volumes[0].local"],
    [{ volumes: [{ local: "/a", target: "/d/.." }] }, "volumes[0].target"],
    [{ volumes: [{ local: "/a", target: "//" }] }, "volumes[0].target"],
    [
      {
        volumes: [
          { local: "/a", target: "/d" },
          { local: "/b", target: "/d//" },
        ],
      },
      "volumes[1].target",
    ],
    [{ volumes: [{ local: "/a", target: "/d", readonly: "yes" }] }, "volumes[0].readonly"],
    [{ privileged: "true" }, "privileged"],
    [{ ports: [{ host_port: 30_000, target_port: 80, protocol: "sctp" }] }, "ports[0].protocol"],
    [{ command: [] }, "command"],
    [{ command: ["a\0b"] }, "command[0]"],
    [{ cpu_limit: 0 }, "cpu_limit"],
    [{ memory_limit: 1024 }, "memory_limit"],
    [{ memory_limit: null }, "memory_limit"],
    [{ devices: [{ local: "ttyUSB0" }] }, "devices[0].local"],
    [{ devices: [{ local: "/dev/a", permissions: "rr" }] }, "devices[0].permissions"],
    [{ devices: [{ local: "/dev/a", permissions: "" }] }, "devices[0].permissions"],
    [{ healthcheck: { command: [] } }, "healthcheck.command"],
    [{ healthcheck: { command: ["true"], interval_s: 0 } }, "healthcheck.interval_s"],
    [{ restart_policy: "never" }, "restart_policy"],
    [{ host_network: null }, "host_network"],
  ])("refuses %j at %s", (fields, path) => {
    expect(issuesOf(fields)).toEqual([expect.objectContaining({ path })]);
  });

  it("keeps what is absent by default absent, and what is given as it is", () => {
    const extras = {
      command: ["serve", "--port=80"],
      cpu_limit: 0.5,
      memory_limit: 64 * 1024 * 1024,
      devices: [{ local: "/dev/ttyUSB0", target: "/dev/serial", permissions: "rw" }],
      healthcheck: { command: ["true"], interval_s: 5, timeout_s: 1, retries: 2, start_period_s: 0 },
      restart_policy: "on-failure",
    };
    const parsed = parseAppSpec({ ...MINIMAL, ...extras });
    expect(parsed).toMatchObject({ ok: true, spec: extras });
    const plain = parseAppSpec(MINIMAL);
    for (const field of Object.keys(extras)) expect(plain.ok && plain.spec).not.toHaveProperty(field);
  });

  it("leaves the range of host ports to the device", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (host_port) => {
        expect(codeOf({ ...MINIMAL, ports: [{ host_port, target_port: 80 }] })).toBe("ok");
      }),
    );
  });

  it("never throws, and never repeats a value that was sent: it may be a secret", () => {
    const secret = "planted-secret-value";
    const anything = fc.oneof(fc.anything(), fc.constant(secret), fc.constant({ [secret]: secret }));
    fc.assert(
      fc.property(fc.record({ name: anything, image: anything, environments: anything }), (input) => {
        const parsed = parseAppSpec(input);
        if (parsed.ok) return;
        const { message, details } = parsed.error;
        const values = JSON.stringify([message, details]).replaceAll(`"path":"${secret}"`, "");
        const isKey = JSON.stringify(input)?.includes(`"${secret}":`) ?? false;
        if (!isKey) expect(values).not.toContain(secret);
      }),
    );
  });
});

describe("normalizePath", () => {
  it("is the same for every way to write a path", () => {
    const segments = fc.array(fc.stringMatching(/^[a-z]{1,3}$/), { maxLength: 4 });
    const glue = fc.constantFrom("/", "//", "/./");
    fc.assert(
      fc.property(segments, glue, (parts, separator) => {
        const plain = `/${parts.join("/")}`;
        expect(normalizePath(`/${parts.join(separator)}${separator}`)).toBe(plain);
        expect(normalizePath(plain)).toBe(plain);
      }),
    );
  });
});
