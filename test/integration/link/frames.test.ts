import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";
import { ControlPeer, type PeerSession, WELCOME } from "../../support/link/control-peer.ts";
import { runUplink, type RunningUplink } from "../../support/link/running-uplink.ts";
import { waitFor } from "../../support/wait-for.ts";

beforeEach(() => {
  vi.stubEnv("no_proxy", "127.0.0.1");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const FRAMES = process.env["CHAOS"] === "full" ? 10_000 : 2_000;

const VALID = [
  WELCOME,
  { type: "deploy", deployment_id: "d", spec: { name: "web", image: "example/web:1" } },
  { type: "cancel", deployment_id: "d", reason: "timeout" },
  { type: "event_ack", deployment_id: "d", device_seq: 3 },
] as const;

const mutated = fc
  .tuple(
    fc.constantFrom(...VALID),
    fc.array(
      fc.tuple(fc.constantFrom("type", "deployment_id", "spec", "reason", "device_seq", "asset", "x"), fc.jsonValue()),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  )
  .map(([frame, changes]) => JSON.stringify({ ...frame, ...Object.fromEntries(changes) }));

const damaged = fc
  .tuple(fc.constantFrom(...VALID), fc.nat(), fc.string({ maxLength: 4, unit: "binary" }), fc.nat({ max: 3 }))
  .map(([frame, at, insert, cut]) => {
    const text = JSON.stringify(frame);
    const place = at % text.length;
    return text.slice(0, place) + insert + text.slice(place + cut);
  });

const nested = fc.nat({ max: 5_000 }).map((depth) => {
  const spec = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  return `{"type":"deploy","deployment_id":"d","spec":${spec}}`;
});

const anyMessage: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  { weight: 4, arbitrary: mutated },
  { weight: 4, arbitrary: damaged },
  { weight: 2, arbitrary: fc.json() },
  { weight: 2, arbitrary: fc.string() },
  { weight: 1, arbitrary: fc.uint8Array() },
  { weight: 1, arbitrary: nested },
);

async function liveSession(peer: ControlPeer, link: RunningUplink): Promise<PeerSession> {
  return waitFor(
    "a live session",
    () => {
      const session = peer.sessions.at(-1);
      const alive = session?.socket.readyState === 1 && link.uplink.status().state === "online";
      return alive && session.frames.length > 0 ? session : undefined;
    },
    { intervalMs: 1 },
  );
}

/** Resolves once the agent has read everything sent so far, or the session is over. */
function read(session: PeerSession): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      session.socket.off("pong", done);
      session.socket.off("close", done);
      resolve();
    };
    session.socket.on("pong", done);
    session.socket.on("close", done);
    session.socket.ping();
  });
}

async function deploys(peer: ControlPeer, link: RunningUplink, id: string): Promise<void> {
  const session = await liveSession(peer, link);
  session.send({ type: "deploy", deployment_id: id, spec: {} });
  await waitFor("the acknowledgement", () =>
    session.frames.some((frame) => frame.type === "ack" && frame.deployment_id === id),
  );
  expect(link.commands.deployed.at(-1)).toEqual({ id, spec: {} });
}

describe("a session", () => {
  it(`outlives ${FRAMES} random and mutated frames, and deploys afterwards`, async () => {
    const seed = Date.now();
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: `ws://127.0.0.1:${peer.port}/`, backoff: { baseMs: 1, maxMs: 2 } });
    let accepted = 0;
    for (const message of fc.sample(anyMessage, { numRuns: FRAMES, seed })) {
      const session = await liveSession(peer, link);
      session.socket.send(message);
      await read(session);
      accepted++;
    }
    expect(accepted).toBe(FRAMES);
    await deploys(peer, link, "after");
    const { frames, reconnects } = link.uplink.status();
    expect(frames.bad, `seed ${seed}`).toBeGreaterThan(FRAMES / 10);
    expect(frames.unknown, `seed ${seed}`).toBeGreaterThan(0);
    // Nothing is kept of a session that is over, and a session is only given up after twenty bad frames.
    expect(reconnects).toBeLessThanOrEqual(frames.bad / 20);
    expect(link.events.listeners).toBe(1);
    await waitFor("the connections of sessions that are over to be closed", () => peer.connections === 1);
    expect(peer.sessions.flatMap((session) => session.unreadable)).toEqual([]);
    expect(link.lines.filter((line) => String(line["msg"]).includes("frame")).length).toBeLessThan(10);
  });

  it("continues after a bad frame, and is closed with 4400 after twenty", async () => {
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: `ws://127.0.0.1:${peer.port}/` });
    const session = await liveSession(peer, link);
    session.socket.send("{");
    await deploys(peer, link, "d-1");
    for (let i = 0; i < 19; i++) session.socket.send(Buffer.from([1, 2, 3]));
    expect(await waitFor("the close", () => session.closeCode)).toBe(CLOSE_CODES.badFrame);
    await deploys(peer, link, "d-2");
  });

  it("ends after a message that is too large or is not WebSocket, and the next session works", async () => {
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: `ws://127.0.0.1:${peer.port}/` });
    const large = await liveSession(peer, link);
    large.socket.send("x".repeat(MAX_FRAME_BYTES + 1));
    expect(await waitFor("the close", () => large.closeCode)).toBe(CLOSE_CODES.tooBig);
    const garbled = await liveSession(peer, link);
    garbled.request.socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    await waitFor("the close", () => garbled.closeCode);
    await deploys(peer, link, "d-1");
    expect(link.uplink.status().frames.bad).toBe(2);
  });
});
