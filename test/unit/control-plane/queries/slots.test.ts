import { expect, test } from "vitest";
import { Slots } from "../../../../src/control-plane/queries/slots.ts";

test("each holder has as many as the limit, and gives each back once", () => {
  const slots = new Slots(2, "enough");
  const first = slots.take("a");
  slots.take("a");
  slots.take("b");
  expect(() => slots.take("a")).toThrow("enough");
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  slots.take("a");
  expect(() => slots.take("a")).toThrow(expect.objectContaining({ code: "TooManyRequests", details: { limit: 2 } }));
});
