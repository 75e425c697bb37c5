import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { run, start } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { brokenImage, environmentImage, NEVER_CHECKED, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const REGISTRY_PASSWORD = "registry-Pa55word-planted";
const VALUES = [
  "planted-value-one",
  'planted "quoted" \\ value',
  "planted=value?with&signs",
  "planted\nlines\nof value",
];

const system = sharedSystem(() => ({
  agentConfig: { log: { level: "trace" } },
  controlFlags: ["--log-level", "trace"],
}));

/** Returns the service's response to a GET request below the asset. */
async function read(path: string): Promise<string> {
  const { control, asset, account } = system();
  const url = `${control.url}/v1/assets/${asset.uuid}/edge/${path}`;
  return (await fetch(url, { headers: { "X-API-Key": account.apiKey } })).text();
}

test("no declared secret is in any log, event, answer or process title of a full run", async () => {
  const { account, asset, agent, control, directory } = system();
  const written: string[] = [];
  const environments = VALUES.map((value, index) => ({ key: `SECRET_${index}`, value, secret: true }));

  const deploy = async (app: object): Promise<string | undefined> => {
    const stream = await system().open({ name: system().name(), environments, ...app });
    await stream.until("the end", ({ events }) => events.some(({ status }) => status !== "Running"));
    await stream.ended;
    written.push(stream.text, JSON.stringify(stream.headers));
    for (const pid of [agent.pid, control.pid]) written.push(await readFile(`/proc/${pid}/cmdline`, "utf8"));
    if (stream.deploymentId !== "undefined") written.push(JSON.stringify(await system().record(stream.deploymentId)));
    const { code, status } = stream.events.at(-1) ?? {};
    return code ?? status;
  };

  const closed = await Registry.start({ user: { name: "user", password: REGISTRY_PASSWORD } });
  onTestFinished(() => closed[Symbol.asyncDispose]());
  const denied = await closed.push(await sleeperImage(), "team/secret:1");
  const [web, printer, broken] = [
    await webImage(),
    await environmentImage({ Healthcheck: NEVER_CHECKED }),
    await brokenImage(),
  ];
  const image = await system().load(web);
  const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];

  expect(await deploy({ image, ports })).toBe("Success");
  expect(await deploy({ image, ports })).toBe("ErrorPortInUse");
  expect(await deploy({ image: await system().load(printer) })).toBe("CrashLoopBackOff");
  written.push(...(await changeAndRead(image)));
  expect(await deploy({ image: await system().load(broken) })).toBe("InvalidRequest");
  expect(await deploy({ image: denied })).toBe("ImagePullBackOff");
  // Credentials in the wrong place, and requests that are invalid next to a secret.
  expect(await deploy({ image: denied.replace("127.", `user:${REGISTRY_PASSWORD}@127.`) })).toBe("InvalidRequest");
  expect(await deploy({ image, environments: [{ key: "A", value: "planted-value-one", more: 1 }] })).toBe(
    "InvalidRequest",
  );
  expect(await deploy({ image, environments: VALUES })).toBe("InvalidRequest");
  const wrong = [
    await system().open(`{"name": "web", "environments": [{"key": "A", "value": "planted-value-one"`),
    await system().open({ name: "web", image }, { asset: account.apiKey }),
    await system().open({ name: "web", image }, { asset: asset.deviceToken }),
    await system().open({ name: "web", image }, { apiKey: asset.deviceToken }),
  ];
  for (const stream of wrong) {
    await stream.ended;
    written.push(stream.text);
  }
  expect(wrong.map(({ status }) => status)).toEqual([400, 404, 404, 401]);

  // Output of a restart, which reads the store.
  await agent.kill();
  await agent.start();
  await control.kill();
  await control.start();
  await system().untilOnline();
  expect(await deploy({ image })).toBe("Success");

  written.push(...(await operate(image, environments)));
  for (const command of ["check", "show"]) {
    const { stdout, stderr } = await run("dist/edge-agent", ["config", command, "--config", agent.configFile]);
    expect(stdout + stderr).not.toBe("");
    written.push(stdout, stderr);
  }
  const keys = await run("dist/edge-control", ["key", "list", "--data-dir", control.dataDir]);
  expect(keys.stdout).toContain(account.keyId);
  written.push(keys.stdout, agent.output(), control.output());

  // Proves that the search covers real output.
  expect(written.join("").length).toBeGreaterThan(20_000);
  expect(written.join("")).toContain("SECRET_0=***");
  for (const secret of [account.apiKey, asset.deviceToken, REGISTRY_PASSWORD, ...VALUES]) {
    for (const form of forms(secret)) expect(written.filter((text) => text.includes(form))).toEqual([]);
  }

  /** Output about an app whose environment is changed, successfully and then to values that make it fail. */
  async function changeAndRead(image: string): Promise<string[]> {
    const name = system().name();
    expect((await system().deploy({ name, image })).final.status).toBe("Success");
    const broken = { environments, command: ["no-such-program"] };
    const texts: string[] = [];
    for (const [body, status] of [
      [{ environments }, "Success"],
      [broken, "Fail"],
    ] as const) {
      const stream = await system().change("PATCH", name, undefined, body);
      expect((await system().finish(stream)).final.status).toBe(status);
      texts.push(stream.text);
    }
    const shown = await waitFor("the app's report", async () => {
      const text = await read(`apps/${name}`);
      return text.includes("SECRET_0") && text;
    });
    expect(shown).toContain("***");
    return [...texts, shown, await read("apps"), await read("device")];
  }

  /** Output of edgectl for a success and a failure, and the command's process title. */
  async function operate(image: string, environments: readonly object[]): Promise<string[]> {
    const seen: string[] = [];
    for (const [name, expected] of [
      [system().name("cli"), 0],
      ["no such name", 1],
    ] as const) {
      const command = start("dist/edgectl", ["deploy", asset.serialNumber, "-f", "-"], {
        env: {
          EDGECTL_URL: control.url,
          EDGECTL_API_KEY: account.apiKey,
          XDG_CONFIG_HOME: join(directory, "operator"),
        },
        input: JSON.stringify({ name, image, environments }),
      });
      onTestFinished(() => command[Symbol.asyncDispose]());
      seen.push(await waitFor("its title", () => readFile(`/proc/${command.pid}/cmdline`, "utf8").catch(() => "gone")));
      expect((await command.exited) === 0).toBe(expected === 0);
      seen.push(command.stdout(), command.stderr());
    }
    return seen;
  }
});

test("values that are not declared secret are in the app's own output, and in nothing else", async () => {
  const { agent, control, asset, account, directory } = system();
  const own: string[] = [];
  const environments = VALUES.map((value, index) => ({ key: `PLAIN_${index}`, value }));
  const deploy = async (app: Readonly<Record<string, unknown>> & { image: string }): Promise<DeploymentEvent> => {
    const { events, final } = await system().deploy({ name: system().name(), environments, ...app });
    own.push(...events.map(withoutOutput));
    return final;
  };
  const web = await webImage();
  const image = await system().load(web);
  const crash = await deploy({ image: await system().load(await environmentImage({ Healthcheck: NEVER_CHECKED })) });
  expect(crash.code).toBe("CrashLoopBackOff");
  // Quoted as the app wrote it.
  expect(crash.details?.["logs"]).toContain(`PLAIN_0=${VALUES[0]}`);
  expect(crash.details?.["logs"]).toContain(`PLAIN_1=${VALUES[1]}`);
  // The engine's message repeats the program.
  const failed = await deploy({ image, command: [VALUES[0]] });
  expect(failed).toMatchObject({ status: "Fail", message: expect.stringContaining("***") });
  const name = system().name();
  const command = ["sh", "-c", 'echo "$PLAIN_0 and $PLAIN_2"; exec sleep 2147483'];
  expect(await deploy({ name, image, command })).toMatchObject({ status: "Success" });

  const line = `${VALUES[0]} and ${VALUES[2]}`;
  const shown = await waitFor("the app's log", async () => {
    const text = await read(`apps/${name}/logs?tail=10`);
    return text.includes(" and ") && text;
  });
  expect(shown).toContain(line);
  const tool = (...args: string[]) => run("dist/edge-agent", [...args, "--config", agent.configFile]);
  expect((await tool("logs", name)).stdout).toContain(line);
  expect((await tool("app", name, "--json")).stdout).toContain(line);
  const env = {
    EDGECTL_URL: control.url,
    EDGECTL_API_KEY: account.apiKey,
    XDG_CONFIG_HOME: join(directory, "operator"),
  };
  expect((await run("dist/edgectl", ["apps", "logs", asset.serialNumber, name], { env })).stdout).toContain(line);

  await waitFor("the report", async () => (await read(`apps/${name}`)).includes("PLAIN_0"));
  const bundle = join(directory, "plain.tar.gz");
  expect((await tool("support-bundle", bundle)).code).toBe(0);
  own.push(
    gunzipSync(await readFile(bundle)).toString("utf8"),
    await read(`apps/${name}`),
    await read("apps"),
    await read("device"),
    (await tool("status")).stdout,
    (await tool("apps")).stdout,
    agent.output(),
    control.output(),
  );
  for (const pid of [agent.pid, control.pid]) own.push(await readFile(`/proc/${pid}/cmdline`, "utf8"));
  expect(own.join("").length).toBeGreaterThan(20_000);
  for (const value of VALUES) {
    for (const form of forms(value)) expect(own.filter((text) => text.includes(form))).toEqual([]);
  }
});

/** Returns an event without what it quotes of the app's output. */
function withoutOutput({ details = {}, ...event }: DeploymentEvent): string {
  const { logs: _logs, output: _output, ...rest } = details;
  return JSON.stringify({ ...event, details: rest });
}

/** Forms of a secret in a text: plain, JSON-escaped, Base64, and the secret part of a token. */
function forms(secret: string): string[] {
  const token = /^e[kd]_(.{12})/.exec(secret)?.[1];
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString("base64").replace(/=+$/, ""),
    ...(token === undefined ? [] : [token]),
  ];
}
