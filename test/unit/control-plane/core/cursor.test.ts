import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeAssetCursor,
  decodeDeploymentCursor,
  encodeAssetCursor,
  encodeDeploymentCursor,
} from "../../../../src/control-plane/core/cursor.ts";

const position = fc.record({ at: fc.integer({ min: 0, max: 253_402_300_799 }), uuid: fc.uuid() });
const invalid = expect.objectContaining({ code: "InvalidRequest" });

describe("a cursor of assets", () => {
  test("every position survives the round trip, in characters that need no escaping in a URL", () => {
    fc.assert(
      fc.property(position, (any) => {
        const cursor = encodeAssetCursor("created_at", any);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(decodeAssetCursor("created_at", cursor)).toEqual(any);
      }),
    );
  });

  test("anything else is refused with a typed error", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: "binary" })), (text) => {
        expect(() => decodeAssetCursor("created_at", text)).toThrow(invalid);
      }),
    );
  });

  test("a cursor that was tampered with is refused or means another position, never anything else", () => {
    fc.assert(
      fc.property(position, fc.nat(), fc.constantFrom("A", "a", "0", "_", "-", "="), (any, at, character) => {
        const cursor = encodeAssetCursor("created_at", any);
        const index = at % cursor.length;
        const tampered = cursor.slice(0, index) + character + cursor.slice(index + 1);
        try {
          expect(encodeAssetCursor("created_at", decodeAssetCursor("created_at", tampered))).toBe(tampered);
        } catch (error) {
          expect(error).toMatchObject({ code: "InvalidRequest" });
        }
      }),
    );
  });

  test("a cursor of another order is refused", () => {
    const cursor = encodeAssetCursor("created_at", { at: 1, uuid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11" });
    for (const order of ["-created_at", "updated_at", "-updated_at"] as const)
      expect(() => decodeAssetCursor(order, cursor)).toThrow(invalid);
  });
});

describe("a cursor of deployments", () => {
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
});
