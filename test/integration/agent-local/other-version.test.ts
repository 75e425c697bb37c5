import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalClient } from "../../../src/agent/local/client.ts";
import { LocalError } from "../../../src/agent/local/local-error.ts";
import { VERSION } from "../../../src/lib/version.ts";
import { JSON_LIMITS } from "../../../src/protocol/values/bounded-json.ts";
import { tempDir } from "../../support/temp-dir.ts";

const STATUS = {
  agent: { version: "0.0.9", pid: 7, uptime_s: 5, memory_bytes: 60_000_000 },
  link: {
    state: "online",
    control_plane: "wss://control.example.com/",
    for_s: 5,
    next_try_in_s: null,
    last_error: null,
    asset: null,
    reconnects: 0,
  },
  device: { engine: { ok: false, reason: "it is down" }, disk: null, apps: [], deployments: [] },
};

/** A daemon of another version, as after an upgrade of the package. */
describe("a command with a daemon", () => {
  let owned: AsyncDisposableStack;
  let path: string;
  let answer: { readonly version: string | undefined; readonly body: string };

  beforeEach(async () => {
    owned = new AsyncDisposableStack();
    path = join(owned.use(await tempDir()).path, "agent.sock");
    const server = createServer((_request, response) => {
      if (answer.version !== undefined) response.setHeader("edge-agent-version", answer.version);
      response.end(answer.body);
    });
    await new Promise<void>((resolve) => {
      server.listen(path, resolve);
    });
    owned.defer(() => {
      server.closeAllConnections();
      server.close();
    });
  });
  afterEach(() => owned.disposeAsync());

  it.each([["0.0.9"], [undefined]])("of version %s fills in missing fields", async (version) => {
    answer = { version, body: JSON.stringify(STATUS) };
    expect(await new LocalClient(path).request("GET", "/status", "status")).toEqual({
      ...STATUS,
      link: { ...STATUS.link, keepalive_s: null },
      data: null,
      clock: null,
      held: [],
      engine_troubles: [],
      network_fault: null,
      state_fault: null,
    });
  });

  it.each([["9.0.0"], [undefined]])("of version %s reports an answer it does not understand", async (version) => {
    answer = { version, body: JSON.stringify({ ...STATUS, device: "fine" }) };
    await expect(new LocalClient(path).request("GET", "/status", "status")).rejects.toThrow("of another version");
  });

  it("reads no more of another program's answer than one of the agent's may have", async () => {
    answer = { version: VERSION, body: `"${"x".repeat(JSON_LIMITS.response.maxBytes)}"` };
    await expect(new LocalClient(path).request("GET", "/status", "status")).rejects.toThrow("not JSON");
  });

  it.each([["9.0.0"], [VERSION]])("of version %s recognizes an error, also at the end of a stream", async (version) => {
    const error = { code: "ServiceUnavailable", message: "The engine went away." };
    answer = { version, body: `${JSON.stringify({ line: "one" })}\n${JSON.stringify({ error })}\n` };
    const lines: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const { line } of new LocalClient(path).stream("GET", "/log", "logLine")) lines.push(line);
    };
    const failure: unknown = await reading().catch((caught: unknown) => caught);
    expect(failure).toBeInstanceOf(LocalError);
    expect(failure).toMatchObject(error);
    expect(lines).toEqual(["one"]);
  });

  it("of its own version that sends no JSON reports another program at the socket", async () => {
    answer = { version: VERSION, body: "<html>" };
    await expect(new LocalClient(path).request("GET", "/status", "status")).rejects.toThrow("not JSON");
  });
});
