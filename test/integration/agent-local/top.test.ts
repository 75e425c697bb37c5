import { expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";

it("top measures once and ends, as text and as JSON, and reports that the agent is not running", async () => {
  await using device = await LocalAgent.create();
  const daemon = await device.start();
  const text = await device.command("top", "--once");
  expect(text).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Link (offline|connecting).*\nLoad /) as string,
  });
  const document = await device.json<{ machine: { processors: number }; apps: unknown[] }>("top --once");
  expect(document.apps).toEqual([]);
  expect(document.machine.processors).toBeGreaterThan(0);
  daemon.kill();
  await daemon.exited;
  expect((await device.command("top", "--once")).code).toBe(3);
});
