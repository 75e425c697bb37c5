import { expect, test } from "vitest";
import { findOptionsError, type NatsOptions, requiresTls } from "../../../../src/control-plane/bus/nats/options.ts";

const OPTIONS: NatsOptions = {
  urls: ["nats://nats.example:4222"],
  prefix: "edge-control",
  credentials: { kind: "none" },
  tls: {},
};

const errorOf = (changes: Partial<NatsOptions>): string | undefined => findOptionsError({ ...OPTIONS, ...changes });

test("URLs and prefixes are checked", () => {
  expect(errorOf({})).toBeUndefined();
  expect(errorOf({ urls: ["tls://[2001:db8::1]:4222", "nats://nats.example"], prefix: "a.b" })).toBeUndefined();
  expect(errorOf({ urls: [] })).toMatch("no URL");
  for (const url of ["", "nats.example:4222", "http://nats.example", "nats://"])
    expect(errorOf({ urls: [...OPTIONS.urls, url] })).toMatch("must be nats://HOST:PORT");
  for (const prefix of ["", "a b", "a.*", ".a", "a."]) expect(errorOf({ prefix })).toMatch("the prefix");
  expect(errorOf({ tls: { certFile: "c" } })).toMatch("both");
  expect(errorOf({ tls: { keyFile: "k" } })).toMatch("both");
});

test("credentials in a URL are refused and not quoted", () => {
  const error = findOptionsError({ ...OPTIONS, urls: ["nats://edge:s3cret@nats.example"] });
  expect(error).toMatch("must not contain credentials");
  expect(error).not.toContain("s3cret");
});

test("TLS is required by the scheme and by its files", () => {
  expect(requiresTls(OPTIONS)).toBe(false);
  expect(requiresTls({ ...OPTIONS, urls: ["tls://nats.example"] })).toBe(true);
  expect(requiresTls({ ...OPTIONS, urls: ["nats://a.example", "TLS://b.example"] })).toBe(true);
  expect(requiresTls({ ...OPTIONS, tls: { caFile: "ca" } })).toBe(true);
  expect(requiresTls({ ...OPTIONS, tls: { certFile: "c", keyFile: "k" } })).toBe(true);
});
