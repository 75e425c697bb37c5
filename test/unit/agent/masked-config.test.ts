import { expect, test } from "vitest";
import { parseConfig } from "../../../src/agent/config/load.ts";
import { configSecrets, maskedConfig } from "../../../src/agent/config/masked.ts";

const SECRETS = ["password word", "registry token", "identity token"];
const config = parseConfig(
  JSON.stringify({
    control_plane_url: "wss://control.example.com/v1/agent",
    device_token: "ed_abc",
    registries: [
      { host: "a.example.com", username: "user", password: SECRETS[0] },
      { host: "b.example.com", token: SECRETS[1] },
      { host: "c.example.com", identity_token: SECRETS[2] },
      { host: "d.example.com", insecure: true },
    ],
  }),
  "config.json",
);

test("a shown configuration contains everything but the secrets", () => {
  const shown = JSON.stringify(maskedConfig(config));
  for (const secret of [...SECRETS, "ed_abc"]) expect(shown).not.toContain(secret);
  for (const text of ["a.example.com", "user", "d.example.com", '"insecure":true']) expect(shown).toContain(text);
});

test("the secrets to mask elsewhere are complete", () => {
  expect(configSecrets(config)).toEqual(SECRETS);
});
