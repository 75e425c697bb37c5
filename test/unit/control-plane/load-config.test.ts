import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../../src/control-plane/load-config.ts";
import { tempDir } from "../../support/temp-dir.ts";

it("names every unknown key of the service's configuration, and the key that was meant", async () => {
  await using directory = await tempDir();
  const file = join(directory.path, "config.json");
  writeFileSync(file, JSON.stringify({ port: 8080, dataDir: "/data", rate_limit_per_minutes: 1, colour: "red" }));
  expect(() => loadConfig(file, {})).toThrow(
    `${file}: port: unknown field; did you mean \`listen\`?; dataDir: unknown field; did you mean \`data_dir\`?; ` +
      "rate_limit_per_minutes: unknown field; did you mean `rate_limit_per_minute`?; colour: unknown field",
  );
});
