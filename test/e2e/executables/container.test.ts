import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../../src/lib/version.ts";
import { run, succeed } from "../../support/command.ts";
import { documented } from "../../support/documentation.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { loadImage, uniqueName, webImage, WEB_PORT } from "../../support/images.ts";
import { agentImage } from "../../support/system/agent-image.ts";
import { page } from "../../support/system/app-page.ts";
import { ControlProcess } from "../../support/system/control.ts";
import { deployTo } from "../../support/system/deploy-to.ts";
import { removeContainers } from "../../support/system/engine-containers.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Returns the documented arguments of `docker`, with this test's names and folders. */
function documentedRun(replacements: Readonly<Record<string, string>>): string[] {
  const block = documented("docs/install.md", "As a container", 2)
    .replace(/^docker /, "")
    .replaceAll("\\\n", "");
  return block
    .trim()
    .split(/\s+/)
    .map((word) => {
      const [source = "", ...rest] = word.split(":");
      return [replacements[source] ?? source, ...rest].join(":");
    });
}

const docker = (...args: readonly string[]): Promise<string> => succeed("docker", args);

const socket = (await dockerSocket()) ?? "";

describe.skipIf(socket === "")("the agent's image", () => {
  let image: Awaited<ReturnType<typeof agentImage>>;
  beforeAll(async () => {
    image = await agentImage(socket);
  });
  afterAll(() => image[Symbol.asyncDispose]());

  test("is built by the Dockerfile on a minimal base without network access", async () => {
    const version = await run("docker", ["run", "--rm", "--network", "none", image.reference, "--version"]);
    expect(version).toMatchObject({ code: 0, stdout: `${VERSION}\n` });
    const withoutConfig = await run("docker", ["run", "--rm", "--network", "none", image.reference]);
    expect(withoutConfig.code).not.toBe(0);
    expect(withoutConfig.stdout + withoutConfig.stderr).toContain("/etc/edge-agent/config.json");
  });

  test("deploys apps on the machine as documented, and its health check shows the agent's health", async () => {
    await using owned = new AsyncDisposableStack();
    const { path } = owned.use(await tempDir());
    const control = owned.use(new ControlProcess(path, []));
    await control.start();
    const account = await control.createAccount("container");
    const asset = await control.addAsset(account.accountId, "container-gw");

    const prefix = uniqueName("");
    // Of the state directory in the container.
    owned.defer(() => removeContainers(socket, prefix, "/var/lib"));
    const folders = { "/etc/edge-agent": join(path, "etc"), "/var/lib/edge-agent": join(path, "state") };
    for (const folder of Object.values(folders)) await mkdir(folder);
    const config = {
      control_plane_url: `ws://127.0.0.1:${control.port}/v1/agent`,
      device_token_file: "/etc/edge-agent/token",
      deploy: { settle_window_s: 0.5 },
    };
    await writeFile(join(folders["/etc/edge-agent"], "config.json"), JSON.stringify(config));
    await writeFile(join(folders["/etc/edge-agent"], "token"), asset.deviceToken, { mode: 0o600 });

    const name = `${prefix}agent`;
    const args = documentedRun({ ...folders, "/var/run/docker.sock": socket, "edge-agent": name });
    expect(args.at(-1)).toBe(name);
    // A shorter health check interval than on a device.
    const health = ["--health-interval=1s", "--health-retries=1", "--health-timeout=5s"];
    await docker(...args.slice(0, -1), ...health, image.reference);

    const healthIs = (wanted: string): Promise<unknown> =>
      waitFor(`the container to be ${wanted}`, async () => {
        return (await docker("inspect", "--format", "{{.State.Health.Status}}", name)).trim() === wanted;
      });
    await healthIs("healthy");
    const app = owned.use(await loadImage(socket, await webImage()));
    const port = await freeHostPort();
    const spec = { name: `${prefix}app`, image: app.reference, ports: [{ host_port: port, target_port: WEB_PORT }] };
    expect(await deployTo(control, account, asset, spec)).toMatchObject({ status: "Success" });
    expect(await page(port)).toContain("edge-agent test app");
    // The agent sees the machine's ports and disk.
    const status = JSON.parse(await docker("exec", name, "edge-agent", "status", "--json")) as Record<string, unknown>;
    expect(status).toMatchObject({
      link: { state: "online" },
      device: { disk: { free_bytes: expect.any(Number) as number } },
    });
    expect(await deployTo(control, account, asset, { ...spec, name: `${prefix}other` })).toMatchObject({
      code: "ErrorPortInUse",
    });

    const startedAt = await docker("inspect", "--format", "{{.State.StartedAt}}", spec.name);
    // Signals are sent directly: the engine would count a signal it forwards as a stop by the user.
    const pid = Number(await docker("inspect", "--format", "{{.State.Pid}}", name));
    process.kill(pid, "SIGSTOP");
    await healthIs("unhealthy");
    process.kill(pid, "SIGCONT");
    await healthIs("healthy");
    process.kill(pid, "SIGKILL");
    await waitFor("the engine to start it again", async () => {
      return Number(await docker("inspect", "--format", "{{.RestartCount}}", name)) > 0;
    });
    await healthIs("healthy");
    expect(await docker("inspect", "--format", "{{.State.StartedAt}}", spec.name)).toBe(startedAt);
  });
});

// Shows the reason if the suite is skipped.
if (socket === "") test("the agent's image", ({ skip }) => skip("no Docker engine responds"));
