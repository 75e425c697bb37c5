import { expect, test } from "vitest";
import { KeyedLock } from "../../../../src/lib/keyed-lock.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("one holder per key at a time, in order of arrival; other keys do not wait", async () => {
  const locks = new KeyedLock();
  const order: string[] = [];
  const first = await locks.acquire("a");
  const second = locks.acquire("a").then((holder) => {
    order.push("second");
    return holder;
  });
  const third = locks.acquire("a").then((holder) => {
    order.push("third");
    return holder;
  });
  using _other = await locks.acquire("b");
  expect(order).toEqual([]);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  expect(order).toEqual(["second", "third"]);
});

test("who gives up waiting lets the others go on", async () => {
  const locks = new KeyedLock();
  const holder = await locks.acquire("a");
  const controller = new AbortController();
  const impatient = locks.acquire("a", controller.signal);
  const second = locks.acquire("a");
  controller.abort(new Error("enough"));
  await expect(impatient).rejects.toThrow("enough");
  holder[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  using again = await locks.acquire("a");
  expect(again).toBeDefined();
});

test("releasing twice does not let a second holder in", async () => {
  const locks = new KeyedLock();
  const first = await locks.acquire("a");
  first[Symbol.dispose]();
  using _second = await locks.acquire("a");
  first[Symbol.dispose]();
  let entered = false;
  const enter = async (): Promise<void> => {
    using _third = await locks.acquire("a");
    entered = true;
  };
  void enter();
  await settled();
  expect(entered).toBe(false);
});
