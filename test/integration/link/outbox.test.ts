import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answerAll, ControlPeer } from "../../support/link/control-peer.ts";
import { runUplink } from "../../support/link/running-uplink.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";
import { waitFor } from "../../support/wait-for.ts";

beforeEach(() => {
  vi.stubEnv("no_proxy", "127.0.0.1");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("events", () => {
  it("all arrive in order over a link that is cut repeatedly", async () => {
    const EVENTS = 2_000;
    /** Highest `device_seq` stored of each deployment, and what was stored, as a control plane keeps it. */
    const stored = new Map<string, number[]>();
    const outOfOrder: string[] = [];
    await using peer = await ControlPeer.start({
      onFrame: (session, frame) => {
        if (frame.type === "event") {
          const seqs = stored.get(frame.deployment_id) ?? [];
          stored.set(frame.deployment_id, seqs);
          const seq = frame.event.device_seq;
          // What was sent again is no news; a gap would be a loss.
          if (seq === (seqs.at(-1) ?? 0) + 1) seqs.push(seq);
          else if (seq > (seqs.at(-1) ?? 0)) outOfOrder.push(`${frame.deployment_id}/${seq}`);
        }
        answerAll(session, frame);
      },
    });
    await using relay = await TcpRelay.to(peer.port);
    await using link = runUplink({ url: `ws://127.0.0.1:${relay.port}/` });
    let added = 0;
    let cuts = 0;
    const countStored = (): number => [...stored.values()].reduce((sum, seqs) => sum + seqs.length, 0);
    while (added < EVENTS) {
      const before = { bytes: relay.bytes, stored: countStored() };
      for (let i = 0; i < 100; i++) link.events.add(`d-${added++ % 3}`);
      // At anything, such as the request for the connection, and in turn at an event that has arrived.
      const passed = (): boolean => relay.bytes > before.bytes || link.events.size === 0;
      const arrived = (): boolean => countStored() > before.stored;
      await waitFor("something to pass", cuts % 2 === 0 ? passed : arrived, { intervalMs: 1 });
      relay.cut();
      cuts++;
    }
    await waitFor("every acknowledgement", () => link.events.size === 0);
    expect(outOfOrder).toEqual([]);
    expect([...stored.values()].map((seqs) => seqs.length).reduce((sum, count) => sum + count)).toBe(EVENTS);
    expect(cuts).toBe(20);
    expect(peer.sessions.length).toBeGreaterThan(5);
  });

  it("that were not acknowledged are sent again in the next session, from the first", async () => {
    await using peer = await ControlPeer.start({
      onFrame: (session, frame) => {
        if (frame.type === "hello" || peer.sessions.length > 1) answerAll(session, frame);
      },
    });
    await using link = runUplink(
      { url: `ws://127.0.0.1:${peer.port}/` },
      { prepare: ({ events }) => void [events.add("a"), events.add("b"), events.add("a")] },
    );
    const first = await peer.session(0);
    await waitFor("three events", () => first.frames.length === 4);
    first.socket.terminate();
    const second = await peer.session(1);
    await waitFor("an empty outbox", () => link.events.size === 0);
    expect(second.frames.slice(1)).toEqual(first.frames.slice(1));
  });

  it("wait in the outbox, not in memory, while the peer does not read", async () => {
    const EVENTS = 60;
    await using peer = await ControlPeer.start();
    await using link = runUplink({ url: `ws://127.0.0.1:${peer.port}/` });
    const session = await peer.session(0);
    await waitFor("the session", () => link.uplink.status().state === "online");
    let handedOver = 0;
    const pendingEvents = link.events.pendingEvents.bind(link.events);
    link.events.pendingEvents = (position, limit) => {
      handedOver = position;
      return pendingEvents(position, limit);
    };
    session.socket.pause();
    for (let i = 0; i < EVENTS; i++) link.events.add("a", { details: { log: "x".repeat(900_000) } });
    // What the kernel takes on loopback, some megabytes, is out of our hands; the other 40 or more are not.
    expect(handedOver).toBeLessThan(EVENTS / 2);
    expect(handedOver).toBeGreaterThan(0);
    session.socket.resume();
    await waitFor("an empty outbox", () => link.events.size === 0);
    expect(session.frames.flatMap((frame) => (frame.type === "event" ? [frame.event.device_seq] : []))).toEqual(
      Array.from({ length: EVENTS }, (_, index) => index + 1),
    );
  });
});
