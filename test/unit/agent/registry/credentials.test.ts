import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configuredCredentials } from "../../../../src/agent/registry/credentials/configured-credentials.ts";
import { firstOf } from "../../../../src/agent/registry/credentials/credential-source.ts";
import { deviceHelpers, dockerCredentials } from "../../../../src/agent/registry/credentials/device-credentials.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const HOST = "registry.example.com:5000";
const { signal } = new AbortController();

let directory: { readonly path: string } & AsyncDisposable;

beforeEach(async () => {
  directory = await tempDir();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await directory[Symbol.asyncDispose]();
});

async function write(name: string, content: string, mode: number = 0o600): Promise<string> {
  const path = join(directory.path, name);
  await writeFile(path, content, { mode });
  return path;
}

describe("the configuration", () => {
  test.each([
    [
      { username: "u", password: "p" },
      { kind: "basic", username: "u", password: "p" },
    ],
    [{ token: "t" }, { kind: "token", token: "t" }],
    [{ identity_token: "i" }, { kind: "identity", username: "", identityToken: "i" }],
    [{}, undefined],
  ])("gives %o as %o", async (entry, auth) => {
    const source = configuredCredentials([{ host: HOST, ...entry }]);
    expect(await source.lookup(HOST, signal)).toEqual(auth);
    expect(await source.lookup("elsewhere.example.com", signal)).toBeUndefined();
  });

  test("knows Docker Hub under each of its names", async () => {
    const source = configuredCredentials([{ host: "index.docker.io", token: "t" }]);
    expect(await source.lookup("docker.io", signal)).toMatchObject({ token: "t" });
  });

  test("names a file, which is read each time", async () => {
    const file = await write("password", "first\n");
    const source = configuredCredentials([{ host: HOST, username: "u", password_file: file }]);
    expect(await source.lookup(HOST, signal)).toMatchObject({ password: "first" });
    await write("password", "second");
    expect(await source.lookup(HOST, signal)).toMatchObject({ password: "second" });
    await write("password", "\n");
    await expect(source.lookup(HOST, signal)).rejects.toMatchObject({
      kind: "image_denied",
      message: expect.stringMatching(/is empty/),
    });
    const missing = configuredCredentials([{ host: HOST, username: "u", password_file: "/no/such/file" }]);
    await expect(missing.lookup(HOST, signal)).rejects.toMatchObject({
      kind: "image_denied",
      message: expect.stringMatching(/ENOENT/),
    });
  });
});

describe("a config.json of Docker", () => {
  const helper = deviceHelpers(systemClock);

  async function lookup(config: unknown, registry: string = HOST, run = helper) {
    return await dockerCredentials(await write("config.json", JSON.stringify(config)), run).lookup(registry, signal);
  }

  test.each([
    ["a host", { [HOST]: { auth: login("u", "p:q") } }, HOST, { kind: "basic", username: "u", password: "p:q" }],
    ["an address", { [`https://${HOST}/v1/`]: { auth: login("u", "p") } }, HOST, { kind: "basic" }],
    ["Docker Hub", { "https://index.docker.io/v1/": { auth: login("u", "p") } }, "docker.io", { kind: "basic" }],
    ["an identity token", { [HOST]: { auth: login("u", ""), identitytoken: "i" } }, HOST, { identityToken: "i" }],
    ["a registry token", { [HOST]: { registrytoken: "r" } }, HOST, { kind: "token", token: "r" }],
    ["a name and a password", { [HOST]: { username: "u", password: "p" } }, HOST, { username: "u", password: "p" }],
  ])("has the login for %s", async (_what, auths, registry, expected) => {
    expect(await lookup({ auths, other: true }, registry)).toMatchObject(expected);
  });

  test("has none for other hosts, for an empty entry, and before the first login", async () => {
    const auths = { [HOST]: { auth: login("u", "p") } };
    expect(await lookup({ auths }, "registry.example.com")).toBeUndefined();
    expect(await lookup({ auths: { [HOST]: {} } })).toBeUndefined();
    expect(await lookup({})).toBeUndefined();
    const missing = dockerCredentials(join(directory.path, "none.json"), helper);
    expect(await missing.lookup(HOST, signal)).toBeUndefined();
  });

  test("that is not valid is reported without its content", async () => {
    const path = await write("broken.json", '{"auths": {"x": secretsecret');
    const broken = dockerCredentials(path, helper).lookup(HOST, signal);
    await expect(broken).rejects.toMatchObject({ kind: "image_denied", message: expect.stringContaining(path) });
    await expect(broken).rejects.not.toMatchObject({ message: expect.stringContaining("secretsecret") });
  });

  test("prefers the registry's helper to the store, and that to the file", async () => {
    const auths = { [HOST]: { auth: login("file", "p") } };
    await installHelper("own", `read server; echo '{"ServerURL":"x","Username":"'$server'","Secret":"own"}'`);
    await installHelper("all", `echo '{"Username":"<token>","Secret":"all"}'`);
    await installHelper("empty", `echo credentials not found in native keychain; exit 1`);
    const credHelpers = { [HOST]: "own" };
    expect(await lookup({ auths, credHelpers, credsStore: "all" })).toEqual({
      kind: "basic",
      username: HOST,
      password: "own",
    });
    expect(await lookup({ auths, credsStore: "all" })).toEqual({
      kind: "identity",
      username: "",
      identityToken: "all",
    });
    expect(await lookup({ auths, credsStore: "empty" })).toMatchObject({ username: "file" });
    const hub = { "https://index.docker.io/v1/": "own" };
    expect(await lookup({ credHelpers: hub }, "docker.io")).toMatchObject({ username: "https://index.docker.io/v1/" });
  });

  test.each([
    ["does not exist", "missing", "", /not installed/],
    ["hangs", "hangs", "exec sleep 60", /did not answer within 0.5 s/],
    ["fails", "fails", "echo secretsecret; exit 3", /exit code 3/],
    ["talks", "talks", "echo secretsecret", /no login/],
    ["is a path", "../x", "", /not a valid name/],
  ])("names a helper that %s", async (_what, name, script, message) => {
    // Folders of somebody else's search path, such as root's, are another error.
    vi.stubEnv("PATH", "/usr/bin:/bin");
    if (script !== "") await installHelper(name, script);
    // Only a helper that never answers has little time: the others may be slow to start.
    const found = lookup({ credsStore: name }, HOST, name === "hangs" ? deviceHelpers(systemClock, 500) : helper);
    await expect(found).rejects.toMatchObject({
      kind: "registry_unreachable",
      message: expect.stringMatching(message),
    });
    await expect(found).rejects.not.toMatchObject({ message: expect.stringContaining("secretsecret") });
  });

  test("stops waiting for a helper when the signal aborts", async () => {
    await installHelper("slow", "exec sleep 60");
    const stopped = new AbortController();
    const path = await write("config.json", JSON.stringify({ credsStore: "slow" }));
    const found = dockerCredentials(path, deviceHelpers(systemClock)).lookup(HOST, stopped.signal);
    setTimeout(() => stopped.abort(new Error("enough")), 50);
    await expect(found).rejects.toThrow("enough");
  });
});

test("sources are tried in order", async () => {
  const asked: string[] = [];
  const source = (name: string, knows: boolean) => ({
    lookup: async () => {
      asked.push(name);
      return knows ? ({ kind: "token", token: name } as const) : undefined;
    },
  });
  const all = firstOf([source("a", false), source("b", true), source("c", true)]);
  expect(await all.lookup(HOST, signal)).toEqual({ kind: "token", token: "b" });
  expect(asked).toEqual(["a", "b"]);
});

function login(user: string, password: string): string {
  return Buffer.from(`${user}:${password}`).toString("base64");
}

async function installHelper(name: string, script: string): Promise<void> {
  await mkdir(join(directory.path, "bin"), { recursive: true });
  await write(`bin/docker-credential-${name}`, `#!/bin/sh\n${script}\n`, 0o755);
  vi.stubEnv("PATH", `${join(directory.path, "bin")}:${process.env["PATH"]}`);
}
