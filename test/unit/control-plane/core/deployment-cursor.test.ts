import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeDeploymentCursor,
  encodeDeploymentCursor,
} from "../../../../src/control-plane/core/deployment-cursor.ts";

test("a cursor decodes to the position it was made from", () => {
  const position = fc.record({
    createdAtMs: fc.integer({ min: 0, max: 10 ** 14 }),
    id: fc.stringMatching(/^dep_[0-9a-f]{24}$/),
  });
  fc.assert(
    fc.property(position, (cursor) => {
      expect(decodeDeploymentCursor(encodeDeploymentCursor(cursor))).toEqual(cursor);
    }),
  );
});

test("anything else is refused", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
      expect(() => decodeDeploymentCursor(text)).toThrow(/not a cursor/);
    }),
  );
});
