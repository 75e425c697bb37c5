import { chmod, chown, stat } from "node:fs/promises";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type LocalAgent as LocalApi, localRoutes } from "../../src/agent/local/local-routes.ts";
import { appActionSchema } from "../../src/protocol/deployments/deployment-action.ts";
import { LocalAgent } from "../support/agent-local/local-agent.ts";
import { run } from "../support/command.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * A user with read access tries every request of the local API.
 */

const NOBODY = 65_534;
/** A group without other members. */
const READERS = 64_321;

/** Expected access for each request. A request missing here fails the test. */
const EXPECTED: Readonly<Record<string, "allowed" | "refused">> = {
  "GET /status": "allowed",
  "GET /stats": "allowed",
  "GET /top": "allowed",
  "GET /apps/:name": "allowed",
  "GET /apps/:name/log": "allowed",
  "GET /log": "allowed",
  "GET /events": "allowed",
  "GET /volumes": "allowed",
  "POST /cleanup": "refused",
  "POST /apps/:name/update": "refused",
  "POST /apps/:name/remove": "refused",
  "POST /apps/:name/stop": "refused",
  "POST /apps/:name/start": "refused",
  "POST /apps/:name/restart": "refused",
  "POST /deployments": "refused",
  "POST /apply": "refused",
};

const PRIVILEGED = {
  name: "root",
  image: "example/app:1",
  privileged: true,
  volumes: [{ local: "/", target: "/host" }],
};

/** All routes. Building the table does not use its arguments. */
const ROUTES = Object.keys(localRoutes({ services: { config: {} }, deployments: {} } as unknown as LocalApi));

function asReader(...command: readonly string[]): ReturnType<typeof run> {
  const user = ["--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--groups", `${READERS}`];
  return run("setpriv", [...user, ...command], { env: { NO_COLOR: "1" } });
}

async function ask(
  socket: string,
  route: string,
  query = "",
): Promise<{ readonly status: number; readonly body: string }> {
  const [method = "", path = ""] = route.split(" ");
  const body = method === "POST" ? ["--data", JSON.stringify(PRIVILEGED)] : [];
  const url = `http://agent/v1${path.replace(":name", "web")}${query}`;
  const options = ["-s", "-X", method, "-w", "\n%{http_code}", "--unix-socket", socket, ...body, url];
  const { stdout } = await asReader("curl", ...options);
  const lines = stdout.split("\n");
  return { status: Number(lines.pop()), body: lines.join("\n") };
}

describe("a user in the group for reading", () => {
  let device: LocalAgent;
  let readSocket: string;

  beforeEach(async () => {
    device = await LocalAgent.create();
    readSocket = join(device.directory, "agent-read.sock");
    await chmod(device.directory, 0o711);
    await device.start();
    await waitFor("the socket", () => stat(readSocket));
    // As the service's unit sets its group.
    await chown(readSocket, 0, READERS);
  });
  afterEach(() => device[Symbol.asyncDispose]());

  it("may send read requests only", async () => {
    expect(ROUTES.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
    expect(appActionSchema.options.filter((action) => !ROUTES.includes(`POST /apps/:name/${action}`))).toEqual([]);
    const answered: Record<string, string> = {};
    for (const route of ROUTES) {
      for (const query of ["", "?dry_run=true"]) {
        const { status, body } = await ask(readSocket, route, query);
        const isRefused = status === 403 && body.includes("ReadOnlySocket") && body.includes("group edge-agent");
        // There are no apps and no engine.
        const hasNothing =
          (status === 404 && body.includes("AppNotFound")) || (status === 502 && body.includes("EngineError"));
        const isAllowed = status === 200 || hasNothing;
        answered[route] = isRefused ? "refused" : isAllowed ? "allowed" : `${status} ${body}`;
        // The user has no access to the other socket.
        expect([route, await ask(device.socketPath, route, query)]).toEqual([route, { status: 0, body: "" }]);
      }
    }
    expect(answered).toEqual(EXPECTED);
    // Another method, case or spelling of a path does not bypass the check.
    for (const route of [
      "PUT /deployments",
      "GET /deployments",
      "POST /apps/web/%72emove",
      "POST /../v1/deployments",
      "POST //deployments",
    ]) {
      expect([route, (await ask(readSocket, route)).status]).toEqual([route, expect.toBeOneOf([403, 404])]);
    }
    expect(await device.json("events --lines 5").catch(() => "")).not.toContain("root");
    expect((await device.json<{ device: { apps: unknown[] } }>("status")).device.apps).toEqual([]);
  });

  it("may run read commands, and other commands say what access they need", async () => {
    const command = (...args: readonly string[]): ReturnType<typeof run> =>
      asReader(process.execPath, "src/agent/main.ts", ...args, "--config", join(device.directory, "public.json"));
    const config = JSON.stringify({ local: { socket: device.socketPath } });
    await run("sh", ["-c", 'printf %s "$0" > "$1" && chmod 644 "$1"', config, join(device.directory, "public.json")]);
    expect(await command("apps")).toMatchObject({ code: 0 });
    expect((await command("logs", "--lines", "1")).code).toBe(0);
    const refused = await command("cleanup");
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining("This socket is for reading only")]);
    expect(refused.stderr).toContain("Try it with sudo");
    // A user without access to either socket gets the names of both groups.
    await chown(readSocket, 0, 0);
    const { code, stderr } = await command("apps");
    expect([code, stderr]).toEqual([5, expect.stringMatching(/no permission to use .*edge-agent.*edge-agent-read/s)]);
  });

  it("cannot keep the agent busy: concurrent requests are limited, and the other socket stays available", async () => {
    await using followers = new AsyncDisposableStack();
    for (let count = 0; count < 16; count++) {
      const call = request({ socketPath: readSocket, path: "/v1/log?follow", agent: false });
      followers.defer(() => void call.destroy());
      call.on("error", () => {});
      call.end();
      await once(call, "response");
    }
    const full = await ask(readSocket, "GET /status");
    expect(full.status).toBe(503);
    expect(full.body).toContain("There are 16 requests on the socket for reading already");
    expect((await device.command("apps")).code).toBe(0);
    await followers.disposeAsync();
    await waitFor("room for another", async () => (await ask(readSocket, "GET /status")).status === 200);
  });
});
