import { expect, test } from "vitest";
import { configSchema } from "../../../../src/control-plane/config/config.ts";
import { endpointRemoved, isLegacyRemoved, legacyHeaders } from "../../../../src/control-plane/core/legacy.ts";

const REMOVAL_MS = Date.parse(configSchema.parse({}).legacy_removal_at);

test("the default removal instant is the specified one", () => {
  expect(new Date(REMOVAL_MS).toISOString()).toBe("2026-09-01T00:00:00.000Z");
});

test("the legacy fields are removed from the removal time on", () => {
  expect(isLegacyRemoved(REMOVAL_MS - 1, REMOVAL_MS)).toBe(false);
  expect(isLegacyRemoved(REMOVAL_MS, REMOVAL_MS)).toBe(true);
});

test("headers follow RFC 9745, RFC 8594 and RFC 8288", () => {
  expect(legacyHeaders(REMOVAL_MS, "/v1/assets/GW-1")).toEqual({
    deprecation: "@1772323200",
    sunset: "Tue, 01 Sep 2026 00:00:00 GMT",
    link: '</v1/assets/GW-1>; rel="successor-version"',
  });
});

test("the deprecation is never later than the removal", () => {
  expect(legacyHeaders(Date.UTC(2020, 0, 1), "/v1/assets").deprecation).toBe("@1577836800");
});

test("a removed endpoint says since when and what to use", () => {
  const error = endpointRemoved(REMOVAL_MS, "PATCH", "/v1/assets/GW-1");
  expect(error.code).toBe("EndpointRemoved");
  expect(error.message).toBe("This endpoint was removed on 2026-09-01. Use PATCH /v1/assets/GW-1 instead.");
  expect(error.details).toEqual({ replacement: { method: "PATCH", path: "/v1/assets/GW-1" } });
});
