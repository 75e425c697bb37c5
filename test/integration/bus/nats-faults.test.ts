import { expect, test } from "vitest";
import { LinkedBus } from "../../../src/control-plane/bus/linked-bus.ts";
import { MAX_WAKES, MAX_WAKES_PER_TOPIC } from "../../../src/control-plane/bus/flood-guard.ts";
import { MAX_MESSAGE_BYTES } from "../../../src/control-plane/bus/message-link.ts";
import { MAX_UNCONFIRMED_BYTES } from "../../../src/control-plane/bus/nats/outbound-window.ts";
import { NatsRig } from "../../support/bus/nats-rig.ts";
import { NatsServer } from "../../support/bus/nats-server.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";
import { waitFor } from "../../support/wait-for.ts";

const LARGE = new Uint8Array(MAX_MESSAGE_BYTES);

function throughRelay(server: NatsServer, relay: TcpRelay): NatsRig {
  return new NatsRig({ ...server.options(), urls: [`nats://127.0.0.1:${relay.port}`] });
}

test("a server that is not there yet is waited for, with one log line for each change", async () => {
  await using server = await NatsServer.start();
  await server.stop();
  await using rig = new NatsRig(server.options());
  await rig.failedFor(/ECONNREFUSED|refused/);
  await server.restart();
  await rig.reach("up");
  await server.stop();
  await rig.reach("down");
  await server.restart();
  await rig.reach("up");
  expect(rig.changes).toEqual([
    "not connected to NATS",
    "connected to NATS",
    "not connected to NATS",
    "connected to NATS",
  ]);
});

test("a server that stands still counts as down; publishing goes on in the instance", async () => {
  await using server = await NatsServer.start();
  await using rig = new NatsRig(server.options());
  using bus = new LinkedBus(rig.link);
  await rig.reach("up");
  let calls = 0;
  using _subscription = bus.subscribe("access", () => calls++);
  server.pause();
  try {
    await rig.reach("down");
    expect([bus.state, rig.link.send("access", new Uint8Array())]).toEqual(["down", false]);
    bus.publish("access");
    expect(calls).toBe(1);
    // The next attempts have failed, too.
    await rig.failedFor(/does not answer/);
  } finally {
    server.resume();
  }
  await rig.reach("up");
  expect(calls).toBe(2);
});

test("what waits for a server that stands still is bounded, and what was dropped is counted", async () => {
  await using server = await NatsServer.start();
  await using rig = new NatsRig(server.options());
  await rig.reach("up");
  server.pause();
  try {
    let sent = 0;
    while (rig.link.send("access", LARGE)) sent++;
    expect(sent).toBeGreaterThan(0);
    expect(sent * LARGE.length).toBeLessThanOrEqual(MAX_UNCONFIRMED_BYTES);
    rig.link.send("access", LARGE);
    // The client still notices that the server is gone, although its socket takes nothing.
    await rig.reach("down");
  } finally {
    server.resume();
  }
  await rig.reach("up");
  await waitFor("room", () => rig.link.send("access", LARGE));
  expect(rig.lines.map(({ msg, dropped }) => ({ msg, dropped }))).toContainEqual({
    msg: "NATS keeps up again; messages were dropped",
    dropped: 2,
  });
});

test("an instance that is cut off alone is down, is called when it is back, and the others go on", async () => {
  await using server = await NatsServer.start();
  await using relay = await TcpRelay.to(server.port);
  await using far = throughRelay(server, relay);
  await using near = new NatsRig(server.options());
  await using other = new NatsRig(server.options());
  for (const rig of [far, near, other]) await rig.reach("up");
  using cutOff = new LinkedBus(far.link);
  using sender = new LinkedBus(near.link);
  using receiver = new LinkedBus(other.link);
  const calls = { cutOff: 0, receiver: 0 };
  using _far = cutOff.subscribe("access", () => calls.cutOff++);
  using _near = receiver.subscribe("access", () => calls.receiver++);
  relay.sever();
  await far.reach("down");
  await waitFor("a message between the others", () => {
    sender.publish("access");
    return calls.receiver > 0;
  });
  expect(calls.cutOff).toBe(0);
  expect([near.link.state, other.link.state]).toEqual(["up", "up"]);
  relay.restore();
  await far.reach("up");
  expect(calls.cutOff).toBe(1);
});

test("a link that goes silent is given up", async () => {
  await using server = await NatsServer.start();
  await using relay = await TcpRelay.to(server.port);
  await using rig = throughRelay(server, relay);
  await rig.reach("up");
  relay.silence();
  await rig.failedFor(/does not answer/);
  // New connections are relayed.
  await rig.reach("up");
});

test("an instance that does not read is cut by the server, comes back, and every listener is called", async () => {
  const config = ["max_payload: 400000", "max_pending: 500000", 'write_deadline: "200ms"'];
  await using server = await NatsServer.start({ config });
  await using relay = await TcpRelay.to(server.port);
  await using slow = throughRelay(server, relay);
  await using fast = new NatsRig(server.options());
  await slow.reach("up");
  await fast.reach("up");
  using bus = new LinkedBus(slow.link);
  let calls = 0;
  using _subscription = bus.subscribe("access", () => calls++);
  using _large = slow.link.listen("large", () => undefined);
  relay.silence();
  for (let count = 0; count < 20; count++) fast.link.send("large", LARGE);
  await slow.reach("down");
  await slow.reach("up");
  expect(calls).toBe(1);
});

test("a client of the server that forges wake-ups in bulk causes bounded work, and what is left out is made up for", async () => {
  await using server = await NatsServer.start();
  await using rig = new NatsRig(server.options());
  await using forger = new NatsRig(server.options());
  await rig.reach("up");
  await forger.reach("up");
  const clock = new FakeClock();
  using bus = new LinkedBus(rig.link, clock);
  let leftOut = 0;
  bus.onLeftOut = () => leftOut++;
  const woken: (string | undefined)[] = [];
  let events = 0;
  using _wakes = bus.subscribeWakes("ins_1", (asset) => woken.push(asset));
  using _events = bus.subscribe("events.dep_1", () => events++);
  await waitFor("its subscriptions", () => {
    forger.link.send("wake.ins_1", Buffer.from('["first"]'));
    return woken.includes("first");
  });
  await clock.advance(1_000);
  woken.length = 0;
  const send = (subject: string, text: string) => forger.link.send(subject, Buffer.from(text));
  const forged = JSON.stringify(Array.from({ length: 4_000 }, (_, index) => `asset-${index}`));
  for (let count = 0; count < 5; count++) expect(send("wake.ins_1", forged)).toBe(true);
  for (let count = 0; count < 500; count++) send("events.dep_1", "");
  for (let count = 0; count < 500; count++) send("wake.ins_1", "no list");
  // Two whole messages and a part of the third, then nothing but the count: 3 of 5, and all of the others.
  await waitFor("all messages", () => leftOut === 3 + 500 + 500);
  expect([woken.length, events]).toEqual([MAX_WAKES, 0]);
  woken.length = 0;
  await clock.advance(1_000);
  expect([woken, events]).toEqual([[undefined], 1]);
  // In the next second there is room again, also if one topic has used up its part.
  for (let count = 0; count < 200; count++) send("events.dep_1", "");
  send("wake.ins_1", JSON.stringify(["asset-1"]));
  await waitFor("the wake-up", () => woken.includes("asset-1"));
  expect(events).toBe(1 + MAX_WAKES_PER_TOPIC);
});

test("a message from a listener that fails is logged, and the link goes on", async () => {
  await using server = await NatsServer.start();
  await using one = new NatsRig(server.options());
  await using two = new NatsRig(server.options());
  await one.reach("up");
  await two.reach("up");
  let calls = 0;
  using _subscription = one.link.listen("access", () => {
    if (calls++ === 0) throw new Error("the listener's own");
  });
  await waitFor("two messages", () => {
    two.link.send("access", new Uint8Array());
    return calls > 1;
  });
  expect(one.link.state).toBe("up");
  expect(one.lines.map(({ msg }) => msg)).toContain("cannot handle a message of the bus");
});

test("stopping does not wait for a server that does not answer", async () => {
  await using server = await NatsServer.start();
  server.pause();
  try {
    const rig = new NatsRig(server.options());
    await rig[Symbol.asyncDispose]();
    expect(rig.lines).toEqual([]);
  } finally {
    server.resume();
  }
});

test("subjects and options that would mean something else are refused", async () => {
  await using server = await NatsServer.start();
  await using rig = new NatsRig(server.options());
  for (const subject of ["", "a b", "a.*", "a.>", "a..b", "a\r\nPUB x"]) {
    expect(() => rig.link.send(subject, new Uint8Array())).toThrow("not a valid subject");
    expect(() => rig.link.listen(subject, () => undefined)).toThrow("not a valid subject");
  }
  expect(() => rig.link.send("access", new Uint8Array(MAX_MESSAGE_BYTES + 1))).toThrow("too large");
});
