import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildAppRequest, parseAppFile, secretsWithoutValue } from "../../../src/edgectl/deploy/app-request.ts";
import {
  parseDevice,
  parseEnv,
  parseLiteralEnvFile,
  parsePort,
  parseSecretEnv,
  parseSize,
  parseVolume,
} from "../../../src/edgectl/deploy/parse-options.ts";
import { Failure } from "../../../src/edgectl/failure.ts";

const NO_FLAGS = { files: [], scalars: {}, ports: [], environments: [], volumes: [], devices: [] };

describe("--port", () => {
  test("reads HOST:TARGET and leaves the range to the service", () => {
    expect(parsePort("30080:80")).toEqual({ host_port: 30080, target_port: 80 });
    expect(parsePort("80:80/tcp")).toEqual({ host_port: 80, target_port: 80 });
    expect(parsePort("127.0.0.1:30080:80")).toEqual({ host_port: 30080, target_port: 80, host_address: "127.0.0.1" });
    expect(parsePort("[::1]:30080:80/udp")).toMatchObject({ protocol: "udp", host_address: "::1" });
    expect(parsePort("30053:53/udp")).toEqual({ host_port: 30053, target_port: 53, protocol: "udp" });
  });

  test.each(["80", "", ":", "a:b", "1:2:3", "0.0.0.0:30080:80", "30080:80/sctp", "-1:80", "1e3:80", "999999:1"])(
    "refuses %j",
    (text) => {
      expect(() => parsePort(text)).toThrow(/HOST:TARGET/);
    },
  );
});

describe("--volume", () => {
  test("reads LOCAL:TARGET with or without a mode", () => {
    expect(parseVolume("/a:/b")).toEqual({ local: "/a", target: "/b", readonly: false });
    expect(parseVolume("/a:/b:ro")).toEqual({ local: "/a", target: "/b", readonly: true });
    expect(parseVolume("/a:/b:rw")).toEqual({ local: "/a", target: "/b", readonly: false });
  });

  test("reads the name of a volume in place of a path, and an owner", () => {
    expect(parseVolume("data:/b")).toEqual({ name: "data", target: "/b", readonly: false });
    expect(parseVolume("external:data:/b:ro")).toEqual({ external: "data", target: "/b", readonly: true });
    expect(parseVolume("data:/b:owner=1000")).toEqual({ name: "data", target: "/b", readonly: false, owner: "1000" });
    const owner = "1000:1001";
    expect(parseVolume("/a:/b:ro:owner=1000:1001")).toEqual({ local: "/a", target: "/b", readonly: true, owner });
  });

  test.each(["", "/a", "data", "./a:/b", "../a:/b", "a/b:/b", "/a:b", "/a:/b:rx", "/a:/b:ro:z", "/a:/b:owner=1:1:ro"])(
    "refuses %j",
    (text) => {
      expect(() => parseVolume(text)).toThrow(/SOURCE:TARGET|ro or rw|owner/);
    },
  );

  test.each(["/a:/b:owner=", "/a:/b:owner=node", "data:/b:owner=1:2:3", "data:/b:owner=4294967295"])(
    "refuses the owner of %j",
    (text) => {
      expect(() => parseVolume(text)).toThrow("owner=UID or owner=UID:GID");
    },
  );
});

describe("--device", () => {
  test("reads LOCAL with or without a path in the container and permissions", () => {
    expect(parseDevice("/dev/a")).toEqual({ local: "/dev/a" });
    expect(parseDevice("/dev/a:/dev/b:rw")).toEqual({ local: "/dev/a", target: "/dev/b", permissions: "rw" });
  });

  test.each(["", "dev/a", "/dev/a:b", "/dev/a:/dev/b:rw:x"])("refuses %j", (text) => {
    expect(() => parseDevice(text)).toThrow("LOCAL");
  });
});

describe("sizes", () => {
  test.each([
    ["0", 0],
    ["1500", 1500],
    ["50MB", 50_000_000],
    ["1.5 kB", 1500],
    ["256MiB", 268_435_456],
    ["2GiB", 2_147_483_648],
  ])("%s is %i bytes", (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test.each(["", "MB", "-1", "5m", "5TB", "1e3", "99999999GB9"])("refuses %j", (text) => {
    expect(() => parseSize(text)).toThrow("Write a size");
  });
});

describe("--env and --env-file", () => {
  test("everything after the first = is the value", () => {
    const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]*$/);
    fc.assert(
      fc.property(key, fc.string(), (key, value) => {
        expect(parseEnv(`${key}=${value}`, {})).toEqual({ key, value });
      }),
    );
  });

  test("a name alone takes this shell's value, and is refused if there is none", () => {
    expect(parseEnv("TOKEN", { TOKEN: "t" })).toEqual({ key: "TOKEN", value: "t" });
    expect(() => parseEnv("TOKEN", {})).toThrow("TOKEN has no value");
  });

  test("an error names the line and never the value", () => {
    const failure = catchFailure(() => parseLiteralEnvFile("# c\n\nA=1\n=planted\n", {}, "app.env"));
    expect(failure.message).toContain("app.env, line 4");
    expect(`${failure.message}${failure.hint}`).not.toContain("planted");
  });

  test("a secret may be given without a value, which it then keeps", () => {
    expect(parseSecretEnv("TOKEN=a=b", { TOKEN: "t" })).toEqual({ key: "TOKEN", value: "a=b", secret: true });
    expect(parseSecretEnv("TOKEN", { TOKEN: "t" })).toEqual({ key: "TOKEN", value: "t", secret: true });
    expect(parseSecretEnv("TOKEN", {})).toEqual({ key: "TOKEN", secret: true });
    expect(() => parseSecretEnv("=planted", {})).toThrow("--secret-env: there is no variable name");
    expect(() => parseSecretEnv("", {})).toThrow("no variable name");
  });

  test("a file is read as docker reads it: no quoting, comments and empty lines ignored", () => {
    expect(parseLiteralEnvFile('\uFEFFA=1\r\n#B=2\n\n  C="x # y"\nD=\n', {}, "f")).toEqual([
      { key: "A", value: "1" },
      { key: "C", value: '"x # y"' },
      { key: "D", value: "" },
    ]);
  });
});

describe("file and flags together", () => {
  const file = {
    name: "web",
    image: "web:1",
    privileged: true,
    environments: [
      { key: "A", value: "file" },
      { key: "B", value: "file" },
    ],
    ports: [{ host_port: 30080, target_port: 80 }],
    unknown_field: 1,
  };

  test("without flags the file is sent unchanged", () => {
    expect(buildAppRequest(file, NO_FLAGS)).toEqual(file);
  });

  test("flags take precedence: single values, and list entries with the same key", () => {
    const request = buildAppRequest(file, {
      ...NO_FLAGS,
      files: [],
      scalars: { image: "web:2", privileged: false, memory_limit: undefined },
      environments: [{ key: "A", value: "flag" }],
      ports: [
        { host_port: 30081, target_port: 80 },
        { host_port: 30443, target_port: 443 },
      ],
      volumes: [{ local: "/a", target: "/b", readonly: true }],
    });
    expect(request).toEqual({
      ...file,
      image: "web:2",
      privileged: false,
      environments: [
        { key: "B", value: "file" },
        { key: "A", value: "flag" },
      ],
      ports: [
        { host_port: 30081, target_port: 80 },
        { host_port: 30443, target_port: 443 },
      ],
      volumes: [{ local: "/a", target: "/b", readonly: true }],
    });
  });

  test("a secret stays one, and keeps its value if the flags give none", () => {
    const environments = [
      { key: "A", value: "file", secret: true },
      { key: "B", value: "file", secret: false },
      { key: "C", value: "file" },
    ];
    const given = [
      { key: "A", value: "flag" },
      { key: "B", secret: true },
      { key: "D", secret: true },
    ];
    const request = buildAppRequest({ environments }, { ...NO_FLAGS, environments: given });
    expect(request).toEqual({
      environments: [
        { key: "C", value: "file" },
        { key: "A", value: "flag", secret: true },
        { key: "B", value: "file", secret: true },
        { key: "D", secret: true },
      ],
    });
    expect(secretsWithoutValue(request)).toEqual(["D"]);
    expect(secretsWithoutValue({ environments: [{ key: "A" }, null] })).toEqual([]);
  });

  test("TCP and UDP of one port are different keys; a device's key is its path in the container", () => {
    const ports = [{ host_port: 30053, target_port: 53, protocol: "udp" as const }];
    const devices = [{ local: "/dev/ttyUSB1", target: "/dev/serial" }];
    const given = {
      ports: [{ host_port: 30054, target_port: 53 }],
      devices: [{ local: "/dev/serial" }, { local: "/dev/video0" }],
    };
    expect(buildAppRequest(given, { ...NO_FLAGS, ports, devices })).toEqual({
      ports: [...given.ports, ...ports],
      devices: [{ local: "/dev/video0" }, ...devices],
    });
  });

  test("a file with nonsense in a list does not break the command: the service refuses it", () => {
    const flags = { ...NO_FLAGS, ports: [{ host_port: 30080, target_port: 80 }] };
    expect(buildAppRequest({ ports: "80" }, flags)).toEqual({ ports: "80" });
    expect(buildAppRequest({ ports: [null, 3] }, flags).ports).toEqual([null, 3, ...flags.ports]);
  });

  test("a broken file is named with the line, and its content is not shown", () => {
    const failure = catchFailure(() => parseAppFile('{\n "a": planted\n}', "app.json"));
    expect(failure.message).toBe("app.json is not valid JSON.");
    expect(catchFailure(() => parseAppFile('{"a": 1,}', "app.json")).message).toBe(
      "app.json is not valid JSON (line 1).",
    );
    expect(catchFailure(() => parseAppFile("[]", "app.json")).message).toContain("does not hold one app");
  });
});

describe("an app file that is YAML", () => {
  test.each([
    ["name: web\nimage: web:1\n", "app.txt", { name: "web", image: "web:1" }],
    ["# comment\n\n---\nname: web\n", "Standard input", { name: "web" }],
    ["{name: web}", "app.yaml", { name: "web" }],
    ["x: &x {memory_limit: 1}\napp: {<<: *x}", "app.yml", { x: { memory_limit: 1 }, app: { memory_limit: 1 } }],
  ])("%j in %s is read", (text, name, expected) => {
    expect(parseAppFile(text, name)).toEqual(expected);
  });

  test.each([
    ["services:\n  web:\n    image: planted\n", "is a compose file."],
    ["apps:\n  web:\n    image: planted\n", "holds several apps."],
    ['{"services": {}}', "is a compose file."],
    ["- name: web\n", "does not hold one app."],
  ])("%j is not one app", (text, message) => {
    expect(catchFailure(() => parseAppFile(text, "f")).message).toBe(`f ${message}`);
  });

  test("what is wrong is named by line, and its content is not shown", () => {
    const failure = catchFailure(() => parseAppFile('name: "planted\n', "app.yaml"));
    expect(failure.message).toBe("app.yaml cannot be used: 1 problem. Nothing was sent.");
    expect(failure.details).toEqual({ problems: [expect.stringMatching(/^app\.yaml:\d+:\d+: Missing closing/)] });
  });

  test("JSON in a file of that name is read", () => {
    expect(parseAppFile('{"name": "web"}', "app.yaml")).toEqual({ name: "web" });
  });

  test("an empty file is called so", () => {
    expect(catchFailure(() => parseAppFile(" \n", "app.yaml")).message).toBe("app.yaml is empty.");
  });

  test.each(["{name: web}", "hello", "http://x"])("%j is not taken for it", (text) => {
    expect(catchFailure(() => parseAppFile(text, "app.json")).message).toContain("not valid JSON");
  });

  test("a long text is looked at quickly", () => {
    for (const text of ["#\n \n".repeat(200_000), "# ".repeat(200_000), " ".repeat(200_000)]) {
      expect(catchFailure(() => parseAppFile(text, "app.json")).message).toMatch(/not valid JSON|is empty/);
    }
  });
});

function catchFailure(action: () => unknown): Failure {
  try {
    action();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("it did not fail");
}
