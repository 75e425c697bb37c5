import { expect, test } from "vitest";
import { isLoopback } from "../../../../../src/agent/core/net/hostname.ts";

test.each([
  ["localhost", true],
  ["localhost:5000", true],
  ["127.0.0.1:5000", true],
  ["[::1]:5000", true],
  ["[::1]", true],
  ["::1", true],
  ["::1:5000", false],
  ["localhost.example.com", false],
  ["127.example.com", false],
  ["10.0.0.1", false],
])("whether %s is this machine: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
