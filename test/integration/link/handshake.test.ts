import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OPEN_TIMEOUT_MS } from "../../../src/agent/link/session.ts";
import { freePort } from "../../support/free-port.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { ASSET, ControlPeer, httpAnswer, WELCOME } from "../../support/link/control-peer.ts";
import { SilentServer } from "../../support/link/silent-server.ts";
import { runUplink, type RunningUplink, TOKEN } from "../../support/link/running-uplink.ts";
import { waitFor } from "../../support/wait-for.ts";

beforeEach(() => {
  vi.stubEnv("no_proxy", "127.0.0.1,localhost");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const url = (peer: { readonly port: number }): string => `ws://127.0.0.1:${peer.port}/v1/agent`;
/** No second attempt while the test looks at what became of the first. */
const SLOW_BACKOFF = { baseMs: 60_000, maxMs: 60_000 };
const state = (link: RunningUplink, wanted: string) =>
  waitFor(`state ${wanted}`, () => (link.uplink.status().state === wanted ? link.uplink.status() : undefined));
/** What an attempt failed with. The pause after it may be too short for anybody to see it; the reason stays. */
const failure = (link: RunningUplink) => waitFor("a failed attempt", () => link.uplink.status().lastError?.reason);

describe("a session", () => {
  it("is opened with the token and the version, and answers a deployment with its acknowledgement", async () => {
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: url(peer) });
    const session = await peer.session(0);
    expect(session.request.url).toBe("/v1/agent");
    expect(session.request.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      "user-agent": "edge-agent/1.2.3",
    });
    expect(session.request.headers["sec-websocket-extensions"]).toBeUndefined();
    expect(session.request.headers["sec-websocket-protocol"]).toBeUndefined();
    expect(await state(link, "online")).toMatchObject({ asset: ASSET, reconnects: 0, lastError: undefined });

    session.send({ type: "deploy", deployment_id: "d-1", spec: { name: "web" } });
    await waitFor("the acknowledgement", () => session.frames.find((frame) => frame.type === "ack"));
    expect(link.commands.deployed).toEqual([{ id: "d-1", spec: { name: "web" } }]);
  });

  it("is closed with 1001 when the agent stops", async () => {
    await using peer = await ControlPeer.start();
    const link = runUplink({ url: url(peer) });
    await state(link, "online");
    await link.stop();
    expect(link.uplink.status().state).toBe("stopped");
    expect(await waitFor("the close", () => peer.sessions[0]?.closeCode)).toBe(1001);
  });

  it("that is opening when the agent stops leaves no connection", async () => {
    await using peer = await ControlPeer.start({ onFrame: () => undefined, refuse: () => "" });
    const link = runUplink({ url: url(peer) });
    await link.stop();
    expect(link.uplink.status().state).toBe("stopped");
    await waitFor("no connection left", () => peer.connections === 0);
  });

  it("is reopened after the connection was cut, and reports each state", async () => {
    await using peer = await ControlPeer.start();
    const states: string[] = [];
    await using link = runUplink(
      { url: url(peer) },
      { prepare: ({ uplink }) => void uplink.onStatus((status) => states.push(status.state)) },
    );
    const first = await peer.session(0);
    // A session that ends before its welcome does not count as the first one.
    await state(link, "online");
    first.socket.terminate();
    const status = await waitFor("the second session", () =>
      link.uplink.status().reconnects === 1 ? link.uplink.status() : undefined,
    );
    expect(status.lastError?.reason).toMatch(/cut|reset/);
    expect(states).toEqual(["connecting", "online", "waiting", "connecting", "online"]);
  });

  it("is one at a time", async () => {
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: url(peer) });
    await state(link, "online");
    await expect(link.uplink.run(new AbortController().signal)).rejects.toThrow("runs already");
    expect(peer.handshakes).toBe(1);
  });
});

describe("an attempt", () => {
  it("with a refused token is repeated only after minutes and gives the reason", async () => {
    await using peer = await ControlPeer.start({ refuse: () => httpAnswer("401 Unauthorized") });
    await using link = runUplink({ url: url(peer) });
    const { lastError, nextTryAtMs, sinceMs } = await state(link, "waiting");
    expect(lastError?.reason).toMatch(/refused this device's token \(HTTP 401\)/);
    expect((nextTryAtMs ?? 0) - sinceMs).toBeGreaterThanOrEqual(120_000 - 1);
    expect(link.lines).toContainEqual(expect.objectContaining({ level: "error", reason: lastError?.reason }));
    expect(JSON.stringify([link.lines, link.uplink.status()])).not.toContain("planted");
    expect(peer.handshakes).toBe(1);
  });

  it("that gets Retry-After is not repeated sooner", async () => {
    const seen: number[] = [];
    await using peer = await ControlPeer.start({
      refuse: () => {
        seen.push(performance.now());
        return seen.length === 1 ? httpAnswer("429 Too Many Requests", { "Retry-After": "1" }) : undefined;
      },
    });
    await using link = runUplink({ url: url(peer) });
    expect(await failure(link)).toMatch(/HTTP 429/);
    await state(link, "online");
    expect((seen[1] ?? 0) - (seen[0] ?? 0)).toBeGreaterThanOrEqual(1_000 - 5);
  });

  it.each([
    ["302 Found", { Location: "http://portal.example/" }, /wants a login/],
    ["404 Not Found", {}, /check control_plane_url/],
    ["503 Service Unavailable", { "Retry-After": "600" }, /not ready/],
  ] as const)("that gets %s explains it", async (status, headers, reason) => {
    await using peer = await ControlPeer.start({ refuse: () => httpAnswer(status, headers) });
    await using link = runUplink({ url: url(peer) });
    const { lastError, nextTryAtMs, sinceMs } = await state(link, "waiting");
    expect(lastError?.reason).toMatch(reason);
    if (status.startsWith("503")) expect((nextTryAtMs ?? 0) - sinceMs).toBeGreaterThanOrEqual(600_000 - 1);
  });

  it("at a closed port gives the reason and is repeated", async () => {
    const port = await freePort();
    await using link = runUplink({ url: url({ port }) });
    expect(await failure(link)).toMatch(/nothing listens/);
    await waitFor("five attempts", () => link.lines.length >= 5);
  });

  it.each(["ws://", "wss://user:pa ss@/", "mailto:x"])("at the unusable address %j is waited out too", async (bad) => {
    await using link = runUplink({ url: bad });
    expect(await failure(link)).not.toBe("");
  });

  it("with a token that is not a valid header value fails without logging the token", async () => {
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: url(peer), token: "ed_planted\nvalue", backoff: SLOW_BACKOFF });
    expect(await failure(link)).toMatch(/header/);
    expect(JSON.stringify([link.lines, link.uplink.status()])).not.toContain("planted");
    expect(peer.handshakes).toBe(0);
  });

  it("whose hello gets no response times out", async () => {
    const clock = new FakeClock();
    let asked = 0;
    await using peer = await ControlPeer.start({ onFrame: () => void asked++ });
    await using link = runUplink({ url: url(peer), backoff: SLOW_BACKOFF }, { clock });
    await waitFor("the hello", () => asked === 1);
    await clock.advance(10_000);
    expect(await failure(link)).toMatch(/did not answer the handshake/);
    await waitFor("no connection left", () => peer.connections === 0);
  });

  it("at a host that accepts the connection and sends nothing times out", async () => {
    const clock = new FakeClock();
    await using silent = await SilentServer.start();
    await using link = runUplink({ url: url(silent), backoff: SLOW_BACKOFF }, { clock });
    await waitFor("the connection", () => silent.connections === 1);
    await clock.advance(OPEN_TIMEOUT_MS);
    expect(await failure(link)).toMatch(/no connection within the time allowed/);
    await waitFor("no connection left", () => silent.connections === 0);
  });

  it("fails while the agent's own store cannot be read", async () => {
    await using peer = await ControlPeer.start();
    await using link = runUplink(
      { url: url(peer) },
      {
        prepare: ({ commands }) => {
          commands.openDeployments = () => {
            throw new Error("disk");
          };
        },
      },
    );
    expect(await failure(link)).toMatch(/own store/);
  });
});

describe("a control plane", () => {
  it.each([
    [4401, /refused this device's token/, 120_000],
    [4409, /another process connected with this device's token/, 60_000],
    [4426, /update the agent/, 120_000],
  ])("that closes with %i is contacted again only after minutes", async (code, reason, atLeastMs) => {
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: url(peer) });
    await state(link, "online");
    (await peer.session(0)).socket.close(code);
    const { lastError, nextTryAtMs, sinceMs } = await state(link, "waiting");
    expect(lastError?.reason).toMatch(reason);
    expect((nextTryAtMs ?? 0) - sinceMs).toBeGreaterThanOrEqual(atLeastMs - 1);
  });

  it("that sends goodbye gets the reconnect window it requested", async () => {
    const clock = new FakeClock();
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: url(peer) }, { clock });
    await state(link, "online");
    await clock.advance(60_000);
    const session = await peer.session(0);
    session.send({ type: "goodbye", reason: "restart", retry_after_s: 30 });
    session.socket.close(1012);
    const { lastError, nextTryAtMs, sinceMs } = await state(link, "waiting");
    expect(lastError?.reason).toMatch(/restarting/);
    expect((nextTryAtMs ?? 0) - sinceMs).toBeLessThan(30_000);
    await clock.advance(30_000);
    await peer.session(1);
  });

  it("can send frames together with the handshake response", async () => {
    await using peer = await ControlPeer.start({
      onFrame: (session, frame) => {
        if (frame.type !== "hello") return;
        session.send(WELCOME);
        session.send({ type: "deploy", deployment_id: "d-1", spec: {} });
        session.socket.close(1012);
      },
    });
    await using link = runUplink({ url: url(peer), backoff: SLOW_BACKOFF });
    await waitFor("the deployment", () => link.commands.deployed.length === 1);
  });
});
