import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { run } from "../support/command.ts";
import { webImage } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

// No sequence of eight characters occurs twice in these or in the surrounding texts.
const PASSWORD = `Hunter2 "corréct"/h0rse+b4ttery'st\\ple&<~=`;
const KEY = [
  "-----BEGIN QUITE PRIVATE KEY-----",
  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj",
  "AgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4",
  "-----END QUITE PRIVATE KEY-----",
].join("\n");
const environments = [
  { key: "PASSWORD", value: PASSWORD, secret: true },
  { key: "KEY", value: KEY, secret: true },
];

/** Maximum length of a line, and of the parts into which an engine splits longer ones. */
const LINE = 8_192;
const PART = 16_384;

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Forms in which an app may write its password. */
const FORMS: readonly string[] = [
  PASSWORD,
  JSON.stringify({ password: PASSWORD, key: KEY }),
  `http://user:${encodeURIComponent(PASSWORD)}@db`,
  String(new URLSearchParams({ password: PASSWORD })),
  base64(PASSWORD),
  `Authorization: Basic ${base64(`user:${PASSWORD}`)}`,
  `Authorization: Basic ${base64(`admin:${PASSWORD}`)}`,
  `Authorization: Basic ${base64(`operator:${PASSWORD}`)}`,
  Buffer.from(PASSWORD).toString("base64url"),
];

/** Script that writes each form as a line, the key, and the password at the points where a line is split. */
function script(end: string): string {
  const quoted = FORMS.map((form) => `'${form.replaceAll("'", `'\\''`)}'`);
  const cuts = [LINE, PART].flatMap((at) =>
    [5, 20, 40].map((part) => `printf '%${at - part}s%s and more\\n' '' "$PASSWORD"`),
  );
  return [`printf '%s\\n' ${quoted.join(" ")}`, 'echo "$KEY"', ...cuts, 'echo "written"', end].join("\n");
}

/** Parts of the secrets that are long enough to reveal something, in each form. */
function* parts(): Generator<string> {
  const values = [PASSWORD, ...KEY.split("\n")];
  for (const value of values) {
    for (const form of [
      value,
      JSON.stringify(value).slice(1, -1),
      encodeURIComponent(value),
      base64(value).slice(0, -4),
      base64(`a${value}`).slice(4, -4),
      base64(`ab${value}`).slice(4, -4),
    ]) {
      for (let at = 0; at + 8 <= form.length; at++) yield form.slice(at, at + 8);
    }
  }
}

function expectNothingOf(text: string): void {
  expect([...parts()].filter((part) => text.includes(part))).toEqual([]);
}

const system = sharedSystem();
const tool = (...args: string[]) => run("dist/edge-agent", [...args, "--config", system().agent.configFile]);

async function logsOf(app: string, query: string): Promise<string> {
  const { control, asset, account } = system();
  const url = `${control.url}/v1/assets/${asset.uuid}/edge/apps/${app}/logs?${query}`;
  return await (await fetch(url, { headers: { "X-API-Key": account.apiKey } })).text();
}

test("an app's log shows no part of its secrets, in any form, also where lines are split", async () => {
  const image = await system().load(await webImage("secrets"));
  const app = { name: system().name(), image, environments, command: ["sh", "-c", script("exec sleep 2147483")] };
  expect((await system().deploy(app)).final.status).toBe("Success");
  const whole = await waitFor("the whole log", async () => {
    const text = await logsOf(app.name, "tail=100");
    return text.includes("written") && text;
  });
  expect(whole.split("***").length).toBeGreaterThan(FORMS.length + 6);
  expectNothingOf(whole);
  // Reading may begin in the middle of a line, since engines count its parts.
  for (let tail = 1; tail <= 25; tail++) expectNothingOf(await logsOf(app.name, `tail=${tail}`));
  const local = await tool("logs", app.name, "--lines", "100");
  expect(local.stdout).toContain("written");
  expectNothingOf(local.stdout);
  const facts = await tool("app", app.name);
  expectNothingOf(facts.stdout + facts.stderr);
  // Its command contains the output, and commands are not secret.
  expect((await system().finish(await system().change("DELETE", app.name))).final.status).toBe("Success");
});

test("the reported last output of a crashed app shows no part of its secrets", async () => {
  const image = await system().load(await webImage("secrets"));
  const app = {
    name: system().name(),
    image,
    environments,
    command: ["sh", "-c", script("exit 3")],
    // Never run: the deployment does not succeed before the app ends.
    healthcheck: { command: ["true"], interval_s: 3600 },
  };
  const { final, events } = await system().deploy(app);
  expect(final).toMatchObject({ code: "CrashLoopBackOff", details: { logs: expect.anything() } });
  expectNothingOf(JSON.stringify(events));
  expectNothingOf(system().agent.output() + system().control.output());
  const bundle = join(system().directory, "bundle.tar.gz");
  expect((await tool("support-bundle", bundle)).code).toBe(0);
  expectNothingOf(gunzipSync(await readFile(bundle)).toString("latin1"));
});

test("engine errors about a container that cannot be created or started show no part of its secrets", async () => {
  const image = await system().load(await webImage("secrets"));
  const messages: string[] = [];
  // The engine's message repeats the missing program, here the secret, and is truncated.
  for (const program of [PASSWORD, `/${KEY}`, ...[160, 167, 174, 181].map((deep) => "x/".repeat(deep) + PASSWORD)]) {
    const app = { name: system().name(), image, environments, command: [program] };
    const { final, events } = await system().deploy(app);
    expect(final.status).toBe("Fail");
    messages.push(final.message);
    expectNothingOf(JSON.stringify(events.map(({ message, details }) => ({ message, details }))));
  }
  expect(messages.filter((message) => message.includes("***")).length).toBeGreaterThan(2);
  expect(messages.some((message) => message.includes("***…"))).toBe(true);
  expectNothingOf(system().agent.output());
});

test("a secret variable of an asset is masked where it is a part of a value, and wherever that was put", async () => {
  await using registry = await Registry.start();
  await registry.push(await webImage("parts"), "team/parts:1");
  const { asset, control, account } = system();
  const call = async (method: string, path: string, body?: unknown): Promise<string> => {
    const headers = { "X-API-Key": account.apiKey, "Content-Type": "application/json" };
    const response = await fetch(control.url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect([path, response.status < 300, text]).toEqual([path, true, expect.any(String)]);
    return text;
  };
  const [token, name] = ["Gr4nted/until=Tuesday", system().name()];
  const printed = `echo token "$(echo "$CONFIG" | cut -d' ' -f2)"; echo written; exec sleep 2147483`;
  const app = {
    name,
    image: `${registry.host}/team/parts@${await registry.digest("team/parts:1")}`,
    environments: [{ key: "CONFIG", value: "bearer ${TOKEN} site=${SITE}" }],
    command: ["sh", "-c", printed],
  };
  await call("PUT", `/v1/assets/${asset.uuid}/tags`, { role: "parts" });
  const variables = { TOKEN: { value: token, secret: true }, SITE: { value: "pump-7" } };
  await call("PUT", `/v1/assets/${asset.uuid}/variables`, variables);
  await call("POST", "/v1/fleets", { name: "parts", selector: "role=parts", apps: [name] });
  await call("POST", "/v1/fleets/parts/revisions", { apps: [{ app }] });
  await call("POST", "/v1/fleets/parts/rollouts", {});
  const log = await waitFor("the app's log", async () => {
    const text = await logsOf(name, "tail=100").catch(() => "");
    return text.includes("written") && text;
  });
  expect(log).toContain("token");
  const path = `/v1/assets/${asset.uuid}/edge/apps/${name}`;
  const local = [await tool("logs", name), await tool("app", name), await tool("app", name, "--json")];
  const bundle = join(system().directory, "parts.tar.gz");
  expect((await tool("support-bundle", bundle)).code).toBe(0);
  const shown = [
    log,
    await call("GET", path),
    await call("GET", `${path}?reveal=environments`),
    await call("GET", `/v1/assets/${asset.uuid}/edge/deployments`),
    ...local.map(({ stdout, stderr }) => stdout + stderr),
    gunzipSync(await readFile(bundle)).toString("latin1"),
    system().agent.output() + system().control.output(),
  ];
  for (const text of shown)
    for (const form of [token, JSON.stringify(token), base64(token)]) expect(text).not.toContain(form);
  expect(log).toContain("***");
});
