import { expect, test } from "vitest";
import { YoungGarbage } from "../../../src/lib/young-garbage.ts";

test("garbage of a download is collected after every two mebibytes, however small the pieces are", () => {
  let collections = 0;
  const garbage = new YoungGarbage(() => collections++);
  for (let piece = 0; piece < 320; piece++) garbage.received(65_536);
  expect(collections).toBe(10);
});
