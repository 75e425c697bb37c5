import { expect, test } from "vitest";
import { controlPlaneAddress, enrolmentAddress } from "../../../src/agent/enrolment/exchange.ts";

test.each([
  ["control.example.com", "wss://control.example.com/v1/agent"],
  ["control.example.com:8443", "wss://control.example.com:8443/v1/agent"],
  ["https://control.example.com", "wss://control.example.com/v1/agent"],
  ["https://control.example.com/", "wss://control.example.com/v1/agent"],
  ["http://127.0.0.1:8080", "ws://127.0.0.1:8080/v1/agent"],
  ["wss://control.example.com/v1/agent", "wss://control.example.com/v1/agent"],
  ["https://example.com/edge/v1/agent", "wss://example.com/edge/v1/agent"],
  ["ftp://example.com/x", "ftp://example.com/x"],
  ["", ""],
])("%s is linked to at %s", (typed, address) => {
  expect(controlPlaneAddress(typed)).toBe(address);
});

test("codes are exchanged beside where agents link to", () => {
  expect(enrolmentAddress("wss://example.com/edge/v1/agent").href).toBe("https://example.com/edge/v1/enrolments");
});
