import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { freeHostPort } from "../support/free-port.ts";
import { ownUserImage } from "../support/images.ts";
import { NGINX_PORT, nginxImage } from "../support/images/nginx.ts";
import type { AppRequest, System } from "../support/system.ts";
import { openStream } from "../support/event-stream.ts";
import { startTestSystem } from "../support/system/test-system.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * Debian's nginx is deployed, updated, rolled back, stopped, started and removed through the service, with a volume that
 * keeps its data; and the README's example, by an image that runs as another user than root.
 */

describe("a third-party app", () => {
  test("goes through every action", async (context) => {
    const system = await startTestSystem(context, { agentConfig: { deploy: { settle_window_s: 1 } } });
    const [first, second, broken] = [
      await system.load(await nginxImage("1"), "nginx1"),
      await system.load(await nginxImage("2"), "nginx2"),
      await system.load(await nginxImage("3", "no_such_directive on;"), "nginx3"),
    ];
    const port = await freeHostPort();
    const site = `http://127.0.0.1:${port}`;
    const version = async (): Promise<string> => (await fetch(`${site}/`)).text();
    const name = system.name("web");
    const data = join(system.directory, "data");
    const app = {
      name,
      image: first,
      ports: [{ host_port: port, target_port: NGINX_PORT }],
      volumes: [{ local: data, target: "/data" }],
    };

    expect((await system.deploy(app)).final).toMatchObject({ status: "Success" });
    expect(await version()).toBe("version 1\n");
    expect((await fetch(`${site}/data/measured.txt`, { method: "PUT", body: "21.5" })).status).toBe(201);

    const update = await ask(system, "PATCH", name, { image: second });
    expect(update).toMatchObject({ status: "Success", message: `App ${name} is updated and running.` });
    expect(await version()).toBe("version 2\n");
    expect(await (await fetch(`${site}/data/measured.txt`)).text()).toBe("21.5");

    const failed = await ask(system, "PATCH", name, { image: broken });
    expect(failed).toMatchObject({
      status: "Fail",
      code: "CrashLoopBackOff",
      message: expect.stringContaining("The previous version runs again."),
      details: {
        rolled_back: true,
        exit_code: 1,
        logs: expect.arrayContaining([expect.stringContaining("no_such_directive")]),
      },
    });
    expect(await version()).toBe("version 2\n");
    expect(await (await fetch(`${site}/data/measured.txt`)).text()).toBe("21.5");

    expect(await ask(system, "POST", `${name}/stop`)).toMatchObject({ status: "Success" });
    await expect(version()).rejects.toThrow("fetch failed");
    expect(await ask(system, "POST", `${name}/start`)).toMatchObject({ status: "Success" });
    expect(await version()).toBe("version 2\n");
    expect(await ask(system, "POST", `${name}/restart`)).toMatchObject({ status: "Success" });
    await waitFor("it to answer", async () => (await version()) === "version 2\n");

    expect(await ask(system, "DELETE", name)).toMatchObject({ status: "Success", message: `App ${name} is removed.` });
    await expect(version()).rejects.toThrow("fetch failed");
    expect(readFileSync(join(data, "measured.txt"), "utf8")).toBe("21.5");
    expect(await ask(system, "POST", `${name}/start`)).toMatchObject({ status: "Fail", code: "AppNotFound" });
  });
});

describe("the README's example", () => {
  test("runs as its own user on a fresh device, with a directory that it may write to", async (context) => {
    const system = await startTestSystem(context, { agentConfig: { deploy: { settle_window_s: 1 } } });
    const example = readExample();
    // Not below /tmp, where a directory that is gone is made again.
    const device = await tempDir("/var/tmp");
    onTestFinished(() => device[Symbol.asyncDispose]());
    const data = join(device.path, "var/lib/node-red");
    expect(example).toMatchObject({ name: "node-red", volumes: [{ local: "/var/lib/node-red", target: "/data" }] });
    const app = {
      ...example,
      name: system.name("node-red"),
      image: await system.load(await ownUserImage(), "node-red"),
      ports: [{ host_port: await freeHostPort(), target_port: 1880 }],
      volumes: [{ local: data, target: "/data" }],
    };
    const { events, final } = await system.deploy(app);
    expect(final).toMatchObject({ status: "Success" });
    expect(events.map(({ message }) => message)).toContain(
      `${data} does not exist on the device: the directory is made, owned by 1000:1000.`,
    );
    expect(readFileSync(join(data, "flows.json"), "utf8")).toBe("flows\n");
    expect(ownerOf(data)).toEqual([1000, 1000, 0o775]);
    expect(ownerOf(join(data, ".."))).toEqual([0, 0, 0o755]);

    const conf = join(device.path, "app.conf");
    const files = [{ local: conf, target: "/conf/app.conf" }];
    const failed = await system.deploy({ ...app, name: system.name("conf"), ports: [], volumes: files });
    expect(failed.final).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      message: `${conf} does not exist on the device, and the app mounts it as a file. Put the file there first.`,
    });
    expect(existsSync(conf)).toBe(false);

    // The disk is not mounted: what is there belongs to it.
    rmSync(data, { recursive: true });
    const update = await ask(system, "PATCH", app.name, { environments: [] });
    expect(update).toMatchObject({ status: "Fail", message: expect.stringContaining("Mount its disk") as string });
    expect(existsSync(data)).toBe(false);
  });
});

/** The first request of the README. */
function readExample(): Omit<AppRequest, "name"> {
  const [, body = ""] = /edge\/apps".* -d '(\{.*?\n\})'/s.exec(readFileSync("README.md", "utf8")) ?? [];
  return JSON.parse(body) as AppRequest;
}

function ownerOf(path: string): readonly number[] {
  const { uid, gid, mode } = statSync(path);
  return [uid, gid, mode & 0o7777];
}

/** Requests a change of an app through the service. Returns the stream's last event. */
async function ask(system: System, method: string, path: string, body?: unknown): Promise<DeploymentEvent | undefined> {
  const url = `${system.control.url}/v1/assets/${system.asset.uuid}/edge/apps/${path}`;
  const stream = await openStream(url, { method, apiKey: system.account.apiKey, ...(body !== undefined && { body }) });
  return (await system.finish(stream)).final;
}
