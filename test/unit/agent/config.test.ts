import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../../src/agent/config/config-error.ts";
import { loadConfig, parseConfig } from "../../../src/agent/config/load.ts";
import { toDeployConfig } from "../../../src/agent/daemon/settings.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MINIMAL = { control_plane_url: "wss://control.example.com/v1/agent", device_token: "ed_abc" };

const parse = (fields: Record<string, unknown>) =>
  parseConfig(JSON.stringify({ ...MINIMAL, ...fields }), "config.json");

describe("agent configuration", () => {
  it("needs an address and a token; the rest has defaults", () => {
    expect(parse({})).toMatchObject({
      state_dir: "/var/lib/edge-agent",
      allow_insecure: false,
      log: { level: "info" },
      link: { keepalive_s: 600 },
      deploy: { settle_window_s: 3 },
      policy: { privileged: true, host_network: true, mounts: { allow: [], deny: [] } },
    });
  });

  it.each([
    ["a misspelt key, by name", { stat_dir: "/x" }, /stat_dir: unknown field; did you mean `state_dir`\?/],
    [
      "a misspelt key inside a section",
      { link: { keep_alive: 3 } },
      /link\.keep_alive: unknown field; did you mean `keepalive_s`\?/,
    ],
    ["a wrong type, with what was expected", { link: { keepalive_s: "10" } }, /link\.keepalive_s: must be a number/],
    ["a value out of range, with the range", { link: { keepalive_s: 1 } }, /link\.keepalive_s: must be at least 10/],
    ["a relative state directory", { state_dir: "state" }, /state_dir: must be an absolute path/],
    ["an invalid address", { control_plane_url: "control.example.com" }, /control_plane_url: must be a URL/],
    ["an http address", { control_plane_url: "https://control.example.com" }, /control_plane_url: must be a URL/],
    ["both tokens", { device_token_file: "/t" }, /device_token: set either/],
    ["no token", { device_token: undefined }, /device_token: set either/],
    [
      "two ways to log in",
      { registries: [{ host: "r.io", token: "t", identity_token: "i" }] },
      /\[?0\]?.*set only one/,
    ],
    ["a user without a password", { registries: [{ host: "r.io", username: "u" }] }, /set password or password_file/],
    ["a password without a user", { registries: [{ host: "r.io", password: "p" }] }, /set username beside password/],
    ["a registry that appears twice", { registries: [{ host: "r.io" }, { host: "R.io" }] }, /appears twice/],
    ["an address in place of a registry", { registries: [{ host: "https://r.io/v2/" }] }, /must be a host/],
    ["an unknown log level", { log: { level: "loud" } }, /log\.level/],
    ["a second problem as well", { state_dir: "a", log: 3 }, /state_dir: .*; .*log: |log: .*; .*state_dir: /],
  ])("refuses %s", (_what, fields, message) => {
    expect(() => parse(fields)).toThrow(ConfigError);
    expect(() => parse(fields)).toThrow(message);
  });

  it("sends a token unencrypted only within this machine, unless configured otherwise", () => {
    for (const host of ["localhost", "127.0.0.1:8080", "127.9.9.9", "[::1]:80"]) {
      expect(parse({ control_plane_url: `ws://${host}/v1/agent` })).toBeDefined();
    }
    for (const host of ["control.example.com", "127.0.0.1.example.com", "10.0.0.1", "localhost.example.com"]) {
      const fields = { control_plane_url: `ws://${host}/v1/agent` };
      expect(() => parse(fields)).toThrow(/use wss/);
      expect(parse({ ...fields, allow_insecure: true })).toBeDefined();
    }
  });

  it("never quotes a file that is not JSON: it may contain the token", () => {
    const text = '{"device_token": "ed_supersecretsupersecret", oops}';
    let message = "";
    try {
      parseConfig(text, "config.json");
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/not valid JSON/);
    expect(message).not.toMatch(/supersecret|oops/);
  });
});

describe("agent configuration on disk", () => {
  let directory: Awaited<ReturnType<typeof tempDir>>;
  const write = (name: string, text: string): string => {
    const path = join(directory.path, name);
    writeFileSync(path, text);
    return path;
  };
  const config = (fields: Record<string, unknown>): string => write("config.json", JSON.stringify(fields));

  beforeEach(async () => {
    directory = await tempDir();
  });
  afterEach(() => directory[Symbol.asyncDispose]());

  it("reads the token and the extra certificates from the configured files", () => {
    const path = config({
      control_plane_url: MINIMAL.control_plane_url,
      device_token_file: write("token", "ed_fromfile\n"),
      extra_ca_file: write("ca.pem", "-----BEGIN CERTIFICATE-----\n"),
    });
    expect(loadConfig(path)).toMatchObject({ token: "ed_fromfile", extraCa: "-----BEGIN CERTIFICATE-----\n", path });
  });

  it("protects the paths that grant root on the device, including the agent's own socket", () => {
    const path = config({ ...MINIMAL, local: { socket: "/srv/agent.sock" }, engine: { socket: "/srv/engine.sock" } });
    const { protectedPaths } = toDeployConfig(loadConfig(path));
    for (const guarded of [
      "/srv/agent.sock",
      "/run/edge-agent/agent.sock",
      "/srv/engine.sock",
      "/run/docker.sock",
      path,
    ]) {
      expect(protectedPaths).toContainEqual({ path: guarded, when: "always" });
    }
  });

  it("says which file is missing", () => {
    expect(() => loadConfig(join(directory.path, "none.json"))).toThrow(/none\.json cannot be read: it does not exist/);
    const path = config({ control_plane_url: MINIMAL.control_plane_url, device_token_file: "/nowhere/token" });
    expect(() => loadConfig(path)).toThrow(/device_token_file \/nowhere\/token cannot be read/);
  });

  it("refuses files with unexpected content", () => {
    const token = config({ control_plane_url: MINIMAL.control_plane_url, device_token_file: write("t", "two words") });
    expect(() => loadConfig(token)).toThrow(/device token/);
    const ca = config({ ...MINIMAL, extra_ca_file: write("ca", "hello") });
    expect(() => loadConfig(ca)).toThrow(/extra_ca_file: .* does not contain a PEM certificate/);
  });
});
