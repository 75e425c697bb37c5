import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployment-event.ts";
import { freeHostPort } from "../support/free-port.ts";
import { NGINX_PORT, nginxImage } from "../support/images/nginx.ts";
import { type System } from "../support/system.ts";
import { openStream } from "../support/event-stream.ts";
import { startTestSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * Debian's nginx is deployed, updated, rolled back, stopped, started and removed through the service, with a volume that
 * keeps its data.
 */

describe("a third-party app", () => {
  test("goes through every action", { timeout: 300_000 }, async (context) => {
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

/** Requests a change of an app through the service. Returns the stream's last event. */
async function ask(system: System, method: string, path: string, body?: unknown): Promise<DeploymentEvent | undefined> {
  const url = `${system.control.url}/v1/assets/${system.asset.uuid}/edge/apps/${path}`;
  const stream = await openStream(url, { method, apiKey: system.account.apiKey, ...(body !== undefined && { body }) });
  return (await system.finish(stream)).final;
}
