import { describe, expect, it, vi } from "vitest";
import { lazyObject } from "../../../../scripts/bundling/lazy-object.ts";

function prepared() {
  const load = vi.fn(() => ({ answer: 42, double: (value: number) => value * 2 }));
  return { load, object: lazyObject(load) };
}

describe("a lazy object", () => {
  it("loads when a property is first read, once", () => {
    const { load, object } = prepared();
    expect(load).not.toHaveBeenCalled();
    expect([object.answer, object.double(2), object.answer]).toEqual([42, 4, 42]);
    expect(load).toHaveBeenCalledTimes(1);
  });

  it("loads to answer whether it has a property", () => {
    const { load, object } = prepared();
    expect("answer" in object).toBe(true);
    expect("missing" in object).toBe(false);
    expect(load).toHaveBeenCalledTimes(1);
  });

  it("does not load for what the bundler and `await import()` ask of every module", async () => {
    const { load, object } = prepared();
    expect(Object.getOwnPropertyNames(object)).toEqual([]);
    expect((object as Record<string, unknown>)["__esModule"]).toBeUndefined();
    expect("then" in object).toBe(false);
    expect(await Promise.resolve(object)).toBe(object);
    expect(load).not.toHaveBeenCalled();
  });

  it("has its properties for objects that inherit from its prototype, as the bundler's copies do", () => {
    const { load, object } = prepared();
    const copy = Object.create(Object.getPrototypeOf(object) as object) as typeof object;
    expect([copy.answer, object.answer]).toEqual([42, 42]);
    expect(load).toHaveBeenCalledTimes(1);
  });

  it("fails with the error of loading, and loads again with the next read", () => {
    const load = vi.fn((): { answer: number } => ({ answer: 42 }));
    load.mockImplementationOnce(() => {
      throw new Error("not there");
    });
    const object = lazyObject(load);
    expect(() => object.answer).toThrow("not there");
    expect(object.answer).toBe(42);
  });
});
