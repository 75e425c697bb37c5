import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { configSchema } from "../../../../src/control-plane/config/config.ts";
import { loadConfig } from "../../../../src/control-plane/config/load-config.ts";
import { tempDir } from "../../../support/temp-dir.ts";

it("names every unknown key of the service's configuration, and the key that was meant", async () => {
  await using directory = await tempDir();
  const file = join(directory.path, "config.json");
  writeFileSync(file, JSON.stringify({ port: 8080, dataDir: "/data", rate_limit_per_minutes: 1, colour: "red" }));
  expect(() => loadConfig(file, {})).toThrow(
    `${file}: port: unknown field; did you mean \`listen\`?; dataDir: unknown field; did you mean \`data_dir\`?; ` +
      "rate_limit_per_minutes: unknown field; did you mean `rate_limit_per_minute`?; colour: unknown field",
  );
});

it.each([
  ["public_url", ["https://control.example.com", "http://127.0.0.1:8080", "https://control.example.com/"]],
  ["trusted_proxies", ["127.0.0.1", "10.0.0.0/8, 2001:db8::/32", "::1"]],
])("%s takes what it is for", (key, values) => {
  for (const value of values) expect(configSchema.safeParse({ [key]: value }).success, value).toBe(true);
});

it.each([
  [
    "public_url",
    ["", "control.example.com", "ftp://x", "https://x/path", "https://x?a", "https://u:p@x", "https://x/#a"],
  ],
  ["trusted_proxies", ["", "proxy", "10.0.0.0/33", "10.0.0.0/8/8", "127.0.0.1,", "::/129", "loopback"]],
])("%s refuses anything else", (key, values) => {
  for (const value of values) expect(configSchema.safeParse({ [key]: value }).success, value).toBe(false);
});
