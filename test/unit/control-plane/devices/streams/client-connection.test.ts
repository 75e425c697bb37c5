import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import type { WebSocket } from "ws";
import { LocalGateway } from "../../../../../src/control-plane/devices/gateway/local-gateway.ts";
import type { ApiKey } from "../../../../../src/control-plane/store/accounts.ts";
import { AuditTrail } from "../../../../../src/control-plane/devices/streams/audit-trail.ts";
import { ClientConnection } from "../../../../../src/control-plane/devices/streams/client-connection.ts";
import { encodeStreamData, STREAM_CHANNELS } from "../../../../../src/protocol/link/stream-data.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { captureLog } from "../../../../support/link/log-capture.ts";

/** A connection whose client takes nothing. */
class UnreadSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  sent = 0;
  isPaused = false;

  send(message: string | Uint8Array): void {
    this.sent++;
    this.bufferedAmount += message.length;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  terminate(): void {
    this.readyState = 3;
    this.emit("close");
  }
}

function setUp() {
  const socket = new UnreadSocket();
  const clock = new FakeClock();
  const { logger } = captureLog();
  const unread: unknown[] = [];
  const key = { id: "key_1", accountId: "acc_1", permissions: [] } as unknown as ApiKey;
  const audit = { addEntry: async () => 1 };
  const about = { accountId: "acc_1", keyId: "key_1", source: undefined, assetUuid: "asset", app: "web" };
  void new ClientConnection({
    socket: socket as unknown as WebSocket,
    gateway: new LocalGateway(
      () => undefined,
      () => undefined,
    ),
    assetUuid: "asset",
    app: "web",
    key,
    trail: new AuditTrail({ audit, clock, logger, ...about }),
    clock,
    limits: {
      chargeOpening: () => undefined,
      acquireStream: () => ({ [Symbol.dispose]: () => undefined }),
      onUnread: (waiting) => void unread.push(waiting),
    },
  });
  /** The client sends this as fast as its connection is read. */
  const send = async (message: Uint8Array, isBinary: boolean): Promise<void> => {
    while (socket.isPaused) await clock.advance(10);
    socket.emit("message", Buffer.from(message), isBinary);
  };
  return { socket, unread, send, clock };
}

it("a client that asks for refusals without reading them is cut off", async () => {
  const { socket, unread, send } = setUp();
  const open = Buffer.from(
    JSON.stringify({ type: "stream_open", stream_id: 1, kind: "forward", params: { port: 1 }, credit: 1 }),
  );
  for (let i = 0; i < 100_000 && socket.readyState === socket.OPEN; i++) await send(open, false);
  expect(socket.readyState).not.toBe(socket.OPEN);
  expect(socket.sent).toBeLessThan(40_000);
  expect(unread).toHaveLength(1);
});

it("a client that asks for confirmations without reading them gets one for all", async () => {
  const { socket, send } = setUp();
  const message = encodeStreamData(9, STREAM_CHANNELS.data, Uint8Array.of(1), true);
  for (let i = 0; i < 50_000; i++) await send(message, true);
  expect(socket.bufferedAmount).toBeLessThan(70_000);
  expect(socket.readyState).toBe(socket.OPEN);
});

it("a client that sends too many messages is not read for a while", async () => {
  const { socket, clock } = setUp();
  const message = Buffer.from(encodeStreamData(9, STREAM_CHANNELS.data, Uint8Array.of(1)));
  for (let i = 0; i < 4_001 && !socket.isPaused; i++) socket.emit("message", message, true);
  expect(socket.isPaused).toBe(true);
  await clock.advance(1_000);
  expect(socket.isPaused).toBe(false);
});
