import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findLocalSocket, RUNTIME_SOCKET } from "../../../src/agent/config/socket-path.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** The socket that a command uses with this configuration, on a machine where no agent runs. */
async function socketOf(config: object | string): Promise<string> {
  await using directory = await tempDir();
  const path = join(directory.path, "config.json");
  await writeFile(path, typeof config === "string" ? config : JSON.stringify(config));
  return findLocalSocket(path);
}

it("is the service's while that is stopped, and its directory is gone", async () => {
  expect(await socketOf({})).toBe(RUNTIME_SOCKET);
  expect(await socketOf("{")).toBe(RUNTIME_SOCKET);
});

it("is the configured one, or that of the state directory", async () => {
  expect(await socketOf({ local: { socket: "/run/mine.sock" } })).toBe("/run/mine.sock");
  expect(await socketOf({ state_dir: "/srv/no-such-state" })).toBe("/srv/no-such-state/agent.sock");
});
