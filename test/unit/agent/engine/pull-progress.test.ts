import fc from "fast-check";
import { expect, test } from "vitest";
import { PullProgressSum } from "../../../../src/agent/engine/docker/pull-progress.ts";

const downloading = (id: string, current: number, total: number) => ({
  id,
  status: "Downloading",
  progressDetail: { current, total },
});

test("bytes are summed over layers, and a finished layer counts in full", () => {
  const sum = new PullProgressSum();
  expect(sum.add({ id: "a", status: "Pulling fs layer", progressDetail: {} })).toBe(false);
  expect(sum.add(downloading("a", 10, 100))).toBe(true);
  expect(sum.add(downloading("b", 5, 50))).toBe(true);
  expect(sum.progress).toEqual({ done: 15, total: 150 });
  expect(sum.add({ id: "a", status: "Download complete", progressDetail: {} })).toBe(true);
  expect(sum.progress).toEqual({ done: 105, total: 150 });
  expect(sum.add({ id: "a", status: "Pull complete", progressDetail: {} })).toBe(false);
});

test("layers that are present already are not counted", () => {
  const sum = new PullProgressSum();
  expect(sum.add({ id: "a", status: "Already exists", progressDetail: {} })).toBe(false);
  expect(sum.add({ id: "b", status: "Download complete", progressDetail: {} })).toBe(false);
  expect(sum.progress).toEqual({ done: 0, total: 0 });
});

test("extraction is not taken for download", () => {
  const sum = new PullProgressSum();
  sum.add(downloading("a", 100, 100));
  expect(sum.add({ id: "a", status: "Extracting", progressDetail: { current: 1, total: 9000 } })).toBe(false);
  expect(sum.progress).toEqual({ done: 100, total: 100 });
});

test("a small layer that is complete at once is not reported as the whole image", () => {
  const sum = new PullProgressSum();
  for (const id of ["small", "big", "later"]) expect(sum.add({ id, status: "Pulling fs layer" })).toBe(false);
  expect(sum.add({ id: "later", status: "Waiting" })).toBe(false);
  expect(sum.add(downloading("small", 10, 10))).toBe(false);
  expect(sum.add({ id: "small", status: "Download complete" })).toBe(false);
  expect(sum.add(downloading("big", 90, 990))).toBe(true);
  expect(sum.progress).toEqual({ done: 100, total: 1000 });
});

test("a layer that turns out to be present delays nothing", () => {
  const sum = new PullProgressSum();
  for (const id of ["a", "b"]) sum.add({ id, status: "Pulling fs layer" });
  sum.add({ id: "b", status: "Already exists" });
  expect(sum.add(downloading("a", 1, 10))).toBe(true);
});

const anyMessage = fc.record(
  {
    id: fc.oneof(fc.constantFrom("a", "b", "c"), fc.anything()),
    status: fc.oneof(fc.constantFrom("Downloading", "Download complete", "Extracting", "Pull complete"), fc.anything()),
    progressDetail: fc.oneof(fc.record({ current: fc.integer(), total: fc.integer() }), fc.anything()),
  },
  { requiredKeys: [] },
);

test("whatever the engine sends, progress never goes back and never exceeds the total", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 50 }), (messages) => {
      const sum = new PullProgressSum();
      let before = sum.progress;
      for (const message of messages) {
        const changed = sum.add(message);
        const { done, total } = sum.progress;
        expect(done).toBeGreaterThanOrEqual(before.done);
        expect(total).toBeGreaterThanOrEqual(before.total);
        expect(done).toBeLessThanOrEqual(total);
        expect(changed).toBe(done !== before.done || total !== before.total);
        before = { done, total };
      }
    }),
  );
});
