import { expect, test, vi } from "vitest";
import { LazyAbort } from "../../../../../src/control-plane/devices/hub/lazy-abort.ts";

test("the signal aborts whether it was taken before or after", () => {
  const before = new LazyAbort();
  const { signal } = before;
  const listener = vi.fn<() => void>();
  signal.addEventListener("abort", listener);
  expect([before.aborted, signal.aborted]).toEqual([false, false]);
  before.abort();
  before.abort();
  expect([before.aborted, signal.aborted]).toEqual([true, true]);
  expect(listener).toHaveBeenCalledOnce();
  const after = new LazyAbort();
  after.abort();
  expect(after.signal.aborted).toBe(true);
});
