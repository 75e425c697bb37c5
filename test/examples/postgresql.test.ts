import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { edgectlUser } from "../support/edgectl/process.ts";
import { exampleApp } from "../support/example.ts";
import { postgresqlImage } from "../support/images/applications/postgresql.ts";
import { startTestSystem } from "../support/system/test-system.ts";

const OWNER = 999;

test("PostgreSQL becomes healthy, keeps its data over an update, and its password is in no log", async (context) => {
  const user = await edgectlUser("dist/edgectl");
  onTestFinished(() => user[Symbol.asyncDispose]());
  const system = await startTestSystem(context);
  const { control, account, asset } = system;
  const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey };
  const { serialNumber: gateway } = asset;
  const image = await system.load(await postgresqlImage(), "postgresql");
  const { name, file, directories } = await exampleApp("postgresql", image, system);
  const data = directories[0] ?? "";

  const deployed = await user.run(["deploy", gateway, "-f", file], { env });
  expect(deployed).toMatchObject({ code: 0, stdout: expect.stringContaining(`App ${name} is running.`) as string });
  expect(statSync(join(data, "PG_VERSION")).uid).toBe(OWNER);
  const first = await user.run(["apps", "logs", gateway, name], { env });
  expect(first.stdout + first.stderr).toContain("database system is ready to accept connections");
  expect(first.stdout + first.stderr).not.toContain("change-this-password");

  const initialized = statSync(join(data, "PG_VERSION")).mtimeMs;
  const updated = await user.run(["apps", "update", gateway, name, "--env", "TZ=UTC"], { env });
  expect(updated).toMatchObject({ code: 0 });
  expect(statSync(join(data, "PG_VERSION")).mtimeMs).toBe(initialized);
  const before = await user.run(["apps", "logs", gateway, name, "--previous"], { env });
  expect(before.stdout + before.stderr).toContain("database system is shut down");
});
