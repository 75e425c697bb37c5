import { expect, test, vi } from "vitest";
import { MessageQueue, MAX_WAITING_BYTES } from "../../../../../src/control-plane/devices/hub/message-queue.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const inlet = () => ({ pause: vi.fn<() => void>(), resume: vi.fn<() => void>() });

test("messages are handled one after the other, in order", async () => {
  const seen: number[] = [];
  let busy = 0;
  const inbox = new MessageQueue<number>(
    new FakeClock(),
    inlet(),
    async (message) => {
      expect(++busy).toBe(1);
      await Promise.resolve();
      seen.push(message);
      busy--;
    },
    () => {},
  );
  for (let message = 0; message < 10; message++) inbox.push(message);
  await waitFor("all messages", () => seen.length === 10);
  expect(seen).toEqual([...seen].toSorted((a, b) => a - b));
});

test("the source is paused while many messages wait, and resumed when they are handled", async () => {
  const door = inlet();
  const open = Promise.withResolvers<void>();
  const inbox = new MessageQueue<number>(
    new FakeClock(),
    door,
    () => open.promise,
    () => {},
  );
  for (let message = 0; message < 64; message++) inbox.push(message);
  expect(door.pause).not.toHaveBeenCalled();
  inbox.push(64);
  inbox.push(65);
  expect(door.pause).toHaveBeenCalledOnce();
  open.resolve();
  await waitFor("resuming", () => door.resume.mock.calls.length === 1);
});

test("after an error no more messages are handled", async () => {
  const seen: number[] = [];
  const errors: unknown[] = [];
  const handle = async (message: number): Promise<void> => {
    seen.push(message);
    throw new Error("no");
  };
  const inbox = new MessageQueue<number>(new FakeClock(), inlet(), handle, (error) => errors.push(error));
  inbox.push(1);
  inbox.push(2);
  await waitFor("the error", () => errors.length === 1);
  inbox.push(3);
  expect(seen).toEqual([1]);
});

test("the source is also paused by the size of waiting messages", async () => {
  const door = inlet();
  const open = Promise.withResolvers<void>();
  const inbox = new MessageQueue<number>(
    new FakeClock(),
    door,
    () => open.promise,
    () => {},
  );
  inbox.push(0, MAX_WAITING_BYTES);
  inbox.push(1, MAX_WAITING_BYTES);
  expect(door.pause).not.toHaveBeenCalled();
  inbox.push(2, 1);
  expect(door.pause).toHaveBeenCalledOnce();
  open.resolve();
  await waitFor("resuming", () => door.resume.mock.calls.length === 1);
});

test("slow messages yield to other connections in between", async () => {
  const order: string[] = [];
  const clock = new FakeClock();
  const inbox = new MessageQueue<number>(
    clock,
    inlet(),
    async (message) => {
      order.push(`message ${message}`);
      await clock.advance(10);
    },
    () => {},
  );
  inbox.push(1);
  inbox.push(2);
  setImmediate(() => order.push("somebody else"));
  inbox.push(3);
  await waitFor("all messages", () => order.length === 4);
  expect(order.indexOf("somebody else")).toBeLessThan(3);
});
