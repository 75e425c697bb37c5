import { expect, test } from "vitest";
import { looksSecret } from "../../../src/protocol/apps/secret-names.ts";

const value = "some-value";
const names = (text: string): string[] => text.split(" ");

test.each(
  names(
    "PASSWORD DB_PASSWORD POSTGRES_PASSWORD PGPASSWORD MYSQL_PWD SMTP_PASS SSH_PASSPHRASE API_TOKEN token " +
      "authToken TOKEN_SIGNING CLIENT_SECRET clientSecret SECRET_KEY_BASE KEY API_KEY apiKey APIKEY " +
      "AWS_SECRET_ACCESS_KEY encryption.key tls-private-key GOOGLE_CREDENTIALS CREDENTIAL MY_PRIVATEKEY",
  ),
)("%s looks like a secret", (key) => {
  expect(looksSecret({ key, value })).toBe(true);
});

test.each(
  names(
    "TZ LOG_LEVEL PORT MODE PATH PWD OLDPWD KEYBOARD MONKEY COMPASS PASSENGERS POSTGRES_PASSWORD_FILE " +
      "TOKEN_PATH SECRETS_DIR KEY_FILE TOKEN_TTL TOKEN_URL PASSWORD_LENGTH PUBLIC_KEY SSH_PUBLIC_KEY " +
      "publicKey AWS_ACCESS_KEY_ID MAX_TOKENS _ DATABASE_URL",
  ),
)("%s does not", (key) => {
  expect(looksSecret({ key, value })).toBe(false);
});

test.each([
  ["postgres://app:hunter2@db:5432/app", true],
  ["amqps://:hunter2@broker", true],
  ["postgres://app@db:5432/app", false],
  ["postgres://app:@db/app", false],
  ["http://db:8080/path?at=a:b@c", false],
  ["mail to someone:x@example.com", false],
])("DATABASE_URL=%s: %s", (address, expected) => {
  expect(looksSecret({ key: "DATABASE_URL", value: address })).toBe(expected);
});

test.each(["", "true", "False", "no", "off", "***"])("API_TOKEN=%s is a setting, not a secret", (setting) => {
  expect(looksSecret({ key: "API_TOKEN", value: setting })).toBe(false);
});

test("a long value takes no time", () => {
  for (const long of ["a:".repeat(100_000), `x://${":".repeat(200_000)}`, `x://${"a:".repeat(100_000)}`]) {
    expect(looksSecret({ key: "A", value: long })).toBe(false);
  }
});
