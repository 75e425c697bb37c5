import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { run } from "../../support/command.ts";
import { edgectlUser, type EdgectlUser } from "../../support/edgectl/process.ts";
import { loadImageAs, webImage } from "../../support/images.ts";
import { privateEngineUnavailableReason } from "../../support/private-engine.ts";
import { ComposeProject } from "../../support/recipes/compose-project.ts";
import { AgentProcess } from "../../support/system/agent.ts";
import { waitFor } from "../../support/wait-for.ts";

const APP_IMAGE = "localhost/web:1";
const ASSET = "GW-1";

async function unavailableReason(): Promise<string | undefined> {
  const compose = await run("docker-compose", ["--version"]).catch(() => undefined);
  return compose?.code === 0 ? await privateEngineUnavailableReason() : "docker-compose is not installed";
}

const deploy = (name: string): readonly string[] => {
  const options = ["--name", name, "--image", APP_IMAGE, "--wait-for-device", "120"];
  return ["deploy", ASSET, ...options];
};

async function get(path: string, { port, caFile }: ComposeProject) {
  const ca = await readFile(caFile);
  const [response] = (await once(request({ host: "127.0.0.1", port, path, ca }).end(), "response")) as [
    IncomingMessage,
  ];
  return { status: response.statusCode, type: response.headers["content-type"], body: await text(response) };
}

const missing = await unavailableReason();

describe.skipIf(missing !== undefined)("the recipe compose.yaml", () => {
  const owned = new AsyncDisposableStack();
  let project: ComposeProject;
  let agent: AgentProcess;
  let user: EdgectlUser;
  let env: Record<string, string>;

  beforeAll(async () => {
    project = owned.use(await ComposeProject.prepare());
    await loadImageAs(project.engine.socketPath, await webImage(), APP_IMAGE);
    await project.compose("up", "--detach");
    await project.untilHealthy("edge-control-1");
    await project.untilHealthy("edge-control-2");
    const { account_id: accountId = "" } = await project.administer("account", "create", "acme");
    const key = await project.administer("key", "create", "--account", accountId, "--name", "test");
    const added = await project.administer("asset", "add", "--account", accountId, "--serial-number", ASSET);
    user = owned.use(await edgectlUser("dist/edgectl"));
    const url = `https://127.0.0.1:${project.port}`;
    env = { EDGECTL_URL: url, EDGECTL_API_KEY: key["api_key"] ?? "", NODE_EXTRA_CA_CERTS: project.caFile };
    agent = owned.use(
      new AgentProcess({
        directory: project.directory,
        deviceToken: added["device_token"] ?? "",
        controlPlaneUrl: () => `wss://127.0.0.1:${project.port}/v1/agent`,
        engineSocket: project.engine.socketPath,
        config: { extra_ca_file: project.caFile },
      }),
    );
    await agent.start();
  }, 900_000);
  afterAll(() => owned.disposeAsync());
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(`${await project.logs()}\n${agent.tail()}`)));

  it("a device deploys through the proxy with TLS", async () => {
    expect(await user.run(deploy("first"), { env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("App first is running.") as string,
    });
  });

  it("the console is served through the proxy, with its files", async () => {
    const { status, type, body } = await get("/", project);
    expect([status, type]).toEqual([200, "text/html; charset=utf-8"]);
    const [, script = ""] = /<script[^>]* src="([^"]+)"/.exec(body) ?? [];
    expect(await get(script, project)).toMatchObject({
      status: 200,
      type: expect.stringContaining("javascript") as string,
    });
  });

  it("only the proxy can be reached from outside", async () => {
    const args = [
      "ps",
      "--filter",
      "label=com.docker.compose.project",
      "--format",
      '{{.Label "com.docker.compose.service"}} {{.Ports}}',
    ];
    const { stdout } = await run("docker", ["--host", `unix://${project.engine.socketPath}`, ...args]);
    const published = stdout.split("\n").filter((line) => line.includes("->"));
    expect(published).toEqual([`proxy 127.0.0.1:${project.port}->8443/tcp`]);
  });

  it.each(["edge-control-1", "edge-control-2"])("without %s all goes on", async (instance) => {
    await project.kill(instance);
    await waitFor("a deployment", async () => {
      const { code, stderr } = await user.run(deploy(`without-${instance}`), { env });
      return code === 0 || Promise.reject(new Error(stderr));
    });
    await project.compose("up", "--detach", "--no-deps", instance);
    await project.untilHealthy(instance);
  });

  it("an instance that stands still is started again", async () => {
    await project.freezeUntilRestarted("edge-control-1");
    await project.untilHealthy("edge-control-1");
    expect(await user.run(deploy("after-standstill"), { env })).toMatchObject({ code: 0 });
  });

  it("both instances are replaced one after the other while a client deploys, as the reference says", async () => {
    await project.changeImage();
    const updated = new AbortController();
    const deployments = (async () => {
      const outcomes: { readonly code: number | null; readonly stderr: string }[] = [];
      for (let count = 0; !updated.signal.aborted; count++)
        outcomes.push(await user.run(deploy(`during-${count}`), { env }));
      return outcomes;
    })();
    try {
      await project.compose("up", "--no-deps", "migrate");
      for (const instance of ["edge-control-1", "edge-control-2"]) {
        await project.compose("up", "--detach", "--no-deps", instance);
        await project.untilHealthy(instance);
      }
    } finally {
      updated.abort();
    }
    const outcomes = await deployments;
    expect(outcomes.length).toBeGreaterThan(0);
    expect(outcomes.filter(({ code }) => code !== 0)).toEqual([]);
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) it("the recipe compose.yaml", ({ skip }) => skip(missing));
