import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { StreamConnection } from "../../../src/edgectl/streams/connection.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

/** A connection to a service that does nothing by itself. */
async function connect() {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close());
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[WebSocket]>;
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = await StreamConnection.open({ baseUrl, apiKey: "k", asset: "a", app: "web", clock, signal });
  onTestFinished(() => connection[Symbol.dispose]());
  const [socket] = await accepted;
  onTestFinished(() => socket.terminate());
  return { connection, socket, clock };
}

test("a service of which nothing is heard is given up, and its streams end with the reason", async () => {
  const { connection, socket, clock } = await connect();
  const stream = connection.open("forward", { port: 1880 });
  await clock.advance(60_000);
  // It pings: it is there.
  const ponged = once(socket, "pong");
  socket.ping();
  await ponged;
  await clock.advance(60_000);
  expect(connection.isOpen).toBe(true);
  await clock.advance(20_000);
  await waitFor("the end", () => !connection.isOpen);
  expect(await stream.ended).toMatchObject({ code: "ServiceUnavailable" });
  await expect(stream.opened).rejects.toThrow();
  await waitFor("no timer", () => clock.pending === 0);
});

test("a service that sends more than was asked for is cut off", async () => {
  const { connection, socket } = await connect();
  const opened = once(socket, "message") as Promise<[Buffer]>;
  const stream = connection.open("read", { path: "/" });
  const { stream_id: id, credit } = JSON.parse((await opened)[0].toString()) as { stream_id: number; credit: number };
  socket.send(JSON.stringify({ type: "stream_opened", stream_id: id, credit: 0 }));
  const message = Buffer.alloc(6 + 16_384);
  message.writeUInt8(1, 0);
  message.writeUInt32BE(id, 2);
  for (let sent = 0; sent <= credit; sent += 16_384) socket.send(message);
  expect(await stream.ended).toMatchObject({ code: "ServiceUnavailable" });
});
