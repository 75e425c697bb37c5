import { expect, test } from "vitest";
import { passwordsIn, secretTexts } from "../../../src/protocol/apps/secret-texts.ts";

test.each([
  ["postgres://app:hunter22@db:5432/app", ["hunter22", "hunter22"]],
  ["jdbc:postgresql://app:hunter%2F22@one,two/app", ["hunter%2F22", "hunter/22"]],
  ["amqp://app:not%zzvalid@mq", ["not%zzvalid"]],
  ["https://ghp_0123456789abcdef@example.com/repo", ["ghp_0123456789abcdef", "ghp_0123456789abcdef"]],
  ["https://one:first@a https://two:other@b", ["first", "first", "other", "other"]],
  // Names, which logs are full of.
  ["postgres://postgres@db/app", []],
  ["https://example.com/a:b@c", []],
  ["mail to user:name@example.com", []],
])("the passwords in %s", (text, expected) => {
  expect(passwordsIn(text)).toEqual(expected);
});

test("what is secret in variables: whole values where they are declared, their parts, and passwords in addresses", () => {
  const found = secretTexts([
    { value: "https://u:in-address@db?key=in-part", secret: true, secret_parts: ["in-part"] },
    { value: "level=info key=in-plain", secret_parts: ["in-plain"] },
    { value: "https://u:not-declared@db" },
    { secret: true },
  ]);
  expect([...new Set(found)]).toEqual(["https://u:in-address@db?key=in-part", "in-part", "in-address", "in-plain"]);
});
