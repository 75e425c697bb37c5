import { expect, it } from "vitest";
import { VERSION } from "../../../src/lib/version.ts";
import { run } from "../../support/command.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { agentImage } from "../../support/system/agent-image.ts";

it("the Dockerfile builds the agent's image on a minimal base without network access", async ({ skip }) => {
  const socket = await dockerSocket();
  if (socket === undefined) return skip("no Docker engine responds");
  await using image = await agentImage(socket);
  const version = await run("docker", ["run", "--rm", "--network", "none", image.reference, "--version"]);
  expect(version).toMatchObject({ code: 0, stdout: `${VERSION}\n` });
  const withoutConfig = await run("docker", ["run", "--rm", "--network", "none", image.reference]);
  expect(withoutConfig.code).not.toBe(0);
  expect(withoutConfig.stdout + withoutConfig.stderr).toContain("/etc/edge-agent/config.json");
});
