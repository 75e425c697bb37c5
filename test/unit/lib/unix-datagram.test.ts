import { join } from "node:path";
import { expect, it } from "vitest";
import { type DatagramSender, openDatagramSender } from "../../../src/lib/unix-datagram.ts";
import { DatagramReceiver } from "../../support/datagram-receiver.ts";
import { tempDir } from "../../support/temp-dir.ts";

function open(): DatagramSender {
  const sender = openDatagramSender();
  if (!sender) throw new Error("this Node.js opens no datagram socket");
  return sender;
}

it("sends each message as one datagram, byte for byte", async () => {
  await using dir = await tempDir();
  using receiver = new DatagramReceiver(join(dir.path, "s"));
  using sender = open();
  const long = `MESSAGE=${"ä".repeat(20_000)}\n`;
  expect(sender.send(receiver.path, Buffer.from("READY=1"))).toBe(true);
  expect(sender.send(receiver.path, Buffer.from(long))).toBe(true);
  expect(receiver.take()).toBe("READY=1");
  expect(receiver.take()).toBe(long);
  expect(receiver.take()).toBeUndefined();
});

it("returns false if nothing was sent: no listener, invalid path, too long, closed", async () => {
  await using dir = await tempDir();
  using receiver = new DatagramReceiver(join(dir.path, "s"));
  using sender = open();
  const message = Buffer.from("x");
  expect(sender.send(join(dir.path, "nobody"), message)).toBe(false);
  expect(sender.send(`/${"p".repeat(108)}`, message)).toBe(false);
  expect(sender.send("", message)).toBe(false);
  expect(sender.send(receiver.path, Buffer.alloc(1024 * 1024))).toBe(false);
  expect(sender.send(receiver.path, message)).toBe(true);
  sender[Symbol.dispose]();
  expect(sender.send(receiver.path, message)).toBe(false);
});

it("does not wait for a receiver that reads nothing", async () => {
  await using dir = await tempDir();
  using receiver = new DatagramReceiver(join(dir.path, "s"));
  using sender = open();
  const message = Buffer.alloc(1000);
  let sent = 0;
  while (sent < 100_000 && sender.send(receiver.path, message)) sent += 1;
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThan(100_000);
});

it("reaches a name in Linux's abstract space", () => {
  const name = `@edge-agent-test-${process.pid}-${Math.random()}`;
  using receiver = new DatagramReceiver(name);
  using sender = open();
  expect(sender.send(name, Buffer.from("x"))).toBe(true);
  expect(receiver.take()).toBe("x");
});
