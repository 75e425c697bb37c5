import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";

it("the log is in its file, and can be read without the agent", async () => {
  await using device = await LocalAgent.create();
  const path = join(device.directory, "agent.log");
  await device.configure({ config: { log: { file: { write: "always", path } } } });
  const daemon = await device.start();
  const live = await device.command("logs");
  expect(live).toMatchObject({ code: 0, stdout: expect.stringContaining("edge-agent starts") as string });
  daemon.kill();
  await daemon.exited;
  const left = await device.command("logs", "--tail", "3");
  expect(left.code).toBe(3);
  expect(left.stdout.trim().split("\n")).toHaveLength(3);
  expect(left.stdout).toContain("edge-agent stops; the apps keep running");
  expect(left.stderr).toContain("the agent is not running");
  expect((await device.command("logs", "--lines", "2")).stdout.trim().split("\n")).toHaveLength(2);
  expect(await readFile(path, "utf8")).not.toContain("ed_planted");
});
