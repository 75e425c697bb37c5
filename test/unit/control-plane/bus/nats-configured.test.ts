import { expect, test } from "vitest";
import { natsOptionsOf } from "../../../../src/control-plane/bus/nats/configured.ts";
import { findOptionsError } from "../../../../src/control-plane/bus/nats/options.ts";
import { type ConfigInput, configSchema } from "../../../../src/control-plane/config/config.ts";

const optionsOf = (config: ConfigInput) => natsOptionsOf(configSchema.parse(config));
const NATS_URL = "nats://127.0.0.1:4222";

test("without an address there is no NATS", () => {
  expect(optionsOf({})).toBeUndefined();
  expect(optionsOf({ nats_prefix: "fleet" })).toBeUndefined();
  expect(() => optionsOf({ nats_token_file: "/token" })).toThrow("nats_token_file has no effect without nats_url");
});

test("addresses, prefix and certificates are taken as given", () => {
  const options = optionsOf({
    nats_url: "tls://a:4222, tls://b:4222",
    nats_ca_file: "/ca.pem",
    nats_cert_file: "/cert.pem",
    nats_key_file: "/key.pem",
  });
  expect(options).toEqual({
    urls: ["tls://a:4222", "tls://b:4222"],
    prefix: "edge-control",
    credentials: { kind: "none" },
    tls: { caFile: "/ca.pem", certFile: "/cert.pem", keyFile: "/key.pem" },
  });
  expect(options && findOptionsError(options)).toBeUndefined();
});

test.each([
  [
    { nats_user: "u", nats_password_file: "/p" },
    { kind: "password", user: "u", passwordFile: "/p" },
  ],
  [{ nats_token_file: "/t" }, { kind: "token", tokenFile: "/t" }],
  [{ nats_creds_file: "/c" }, { kind: "creds", credsFile: "/c" }],
  [{ nats_nkey_file: "/n" }, { kind: "nkey", seedFile: "/n" }],
])("the credentials of %j", (keys, credentials) => {
  expect(optionsOf({ nats_url: NATS_URL, ...keys })?.credentials).toEqual(credentials);
});

test.each([
  [{ nats_user: "u" }, "nats_user and nats_password_file belong together"],
  [{ nats_password_file: "/p" }, "nats_user and nats_password_file belong together"],
  [{ nats_token_file: "/t", nats_creds_file: "/c" }, "give one kind of credentials"],
])("%j are refused", (keys, message) => {
  expect(() => optionsOf({ nats_url: NATS_URL, ...keys })).toThrow(message);
});
