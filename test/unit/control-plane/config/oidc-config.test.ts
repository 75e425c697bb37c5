import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ConfigInput, configSchema } from "../../../../src/control-plane/config/config.ts";
import { findOidcFileErrors, oidcSettingsOf } from "../../../../src/control-plane/config/oidc-config.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const VALID: ConfigInput = {
  public_url: "https://control.example.com",
  oidc_issuer: "https://id.example.com/realms/example",
  oidc_client_id: "edge-control",
};
const settingsOf = (fields: ConfigInput) => oidcSettingsOf(configSchema.parse({ ...VALID, ...fields }));

test("without the keys there is no provider", () => {
  expect(oidcSettingsOf(configSchema.parse({ public_url: "https://control.example.com" }))).toBeUndefined();
});

test("the provider is called by its host unless it has a name, and sends people back to the public address", () => {
  expect(settingsOf({})).toMatchObject({
    name: "id.example.com",
    scope: "openid email profile",
    redirectUri: "https://control.example.com/v1/oidc/callback",
    clientSecretFile: undefined,
    rules: { roles: undefined, domains: [], verifiedClaim: "email_verified", accountId: undefined },
  });
  expect(settingsOf({ oidc_name: "Example", oidc_domains: ["Example.COM"] })).toMatchObject({
    name: "Example",
    rules: { domains: ["example.com"] },
  });
});

test.each<[ConfigInput, string]>([
  [{ public_url: undefined }, "public_url"],
  [{ oidc_client_id: undefined }, "oidc_client_id"],
  [{ oidc_issuer: undefined }, "oidc_client_id"],
  [{ oidc_issuer: undefined, oidc_client_id: undefined, oidc_domains: ["example.com"] }, "oidc_domains"],
  [{ oidc_issuer: "id.example.com" }, "oidc_issuer"],
  [{ oidc_issuer: "http://id.example.com" }, "oidc_issuer"],
  [{ oidc_issuer: "https://user@id.example.com" }, "oidc_issuer"],
  [{ oidc_issuer: "https://id.example.com/?a=b" }, "oidc_issuer"],
  [{ oidc_scope: "email profile" }, "oidc_scope"],
  [{ oidc_account: "acc_1" }, "oidc_roles"],
  [{ oidc_roles: {} }, "oidc_roles"],
  [{ oidc_domains: ["@example.com"] }, "oidc_domains"],
])("refuses %j and names the key", (fields, key) => {
  const { error } = configSchema.safeParse({ ...VALID, ...fields });
  expect(error?.issues.map(({ path }) => path[0])).toContain(key);
});

test("http is for this machine alone", () => {
  for (const host of ["127.0.0.1:8080", "localhost", "[::1]:9000"])
    expect(settingsOf({ oidc_issuer: `http://${host}` })).toBeDefined();
});

test("a secret's file that is missing, empty or of several lines is named", async () => {
  await using directory = await tempDir();
  const file = join(directory.path, "secret");
  const errors = () => findOidcFileErrors(configSchema.parse({ ...VALID, oidc_client_secret_file: file }));
  expect(errors()).toEqual([`oidc_client_secret_file: ${file} cannot be read: ENOENT`]);
  for (const text of ["", "a\nb\n"]) {
    await writeFile(file, text);
    expect(errors()).toEqual([`oidc_client_secret_file: ${file} does not contain one line with the secret`]);
  }
  await writeFile(file, "secret\n");
  expect(errors()).toEqual([]);
});
