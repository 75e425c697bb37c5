import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readMessages } from "../../../src/console/live/line-stream.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const KEEP_ALIVE_MS = 15_000;

function openBody() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
  });
  return { body, send: (text: string) => controller?.enqueue(new TextEncoder().encode(text)) };
}

test("a stream with signs of life goes on for as long as it likes, and fails when it is silent", async () => {
  const { body, send } = openBody();
  const messages = readMessages(body);
  const first = messages.next();
  for (let count = 0; count < 20; count++) {
    await vi.advanceTimersByTimeAsync(KEEP_ALIVE_MS);
    send("\n");
    await vi.advanceTimersByTimeAsync(0);
  }
  send('data: {"seq": 1}\n\n');
  expect(await first).toEqual({ done: false, value: { seq: 1 } });
  const silent = expect(messages.next()).rejects.toMatchObject({ code: "Unreachable", status: 0 });
  await vi.advanceTimersByTimeAsync(4 * KEEP_ALIVE_MS);
  await silent;
  expect(vi.getTimerCount()).toBe(0);
});

test("nobody is waited for while a message is worked on", async () => {
  const { body, send } = openBody();
  const messages = readMessages(body);
  send('{"a":1}\n');
  expect(await messages.next()).toEqual({ done: false, value: { a: 1 } });
  await vi.advanceTimersByTimeAsync(10 * KEEP_ALIVE_MS);
  send('{"a":2}\n');
  expect(await messages.next()).toEqual({ done: false, value: { a: 2 } });
});
