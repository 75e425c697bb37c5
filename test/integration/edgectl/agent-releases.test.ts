import { expect, test } from "vitest";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { json, startScriptedService } from "../../support/edgectl/scripted-service.ts";

const RELEASE = {
  version: "1.5.0",
  digest: `sha256:${"0123456789abcdef".repeat(4)}`,
  images: [
    { architecture: "amd64", bytes: 27_100_000, unpacked_bytes: 110_000_000 },
    { architecture: "arm64", bytes: 26_200_000, unpacked_bytes: 108_000_000 },
  ],
  added_at: 1_795_000_000,
};

test("edgectl agent-releases list shows versions with what they cost, or says that there are none", async () => {
  await using service = await startScriptedService();
  await using user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" };
  const list = async (...args: readonly string[]) => await user.run(["agent-releases", "list", ...args], { env });
  const hostile = { ...RELEASE, version: "1.6.0\u001B[2J" };
  service.on(
    "GET /v1/agent-releases",
    json(200, { agent_releases: [hostile, RELEASE] }),
    json(200, { agent_releases: [RELEASE] }),
    json(200, { agent_releases: [] }),
  );
  const { code, stdout } = await list();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^VERSION +ADDED +DOWNLOAD +DIGEST\n1\.6\.0/);
  expect(stdout).toMatch(/\n1\.5\.0 +2026-11-18\S* .*amd64 27\.1 MB, arm64 26\.2 MB +0123456789ab\n$/);
  expect(stdout).not.toContain("\u001B");
  expect(JSON.parse((await list("--json")).stdout)).toEqual({ agent_releases: [RELEASE] });
  expect((await list()).stdout).toBe("The service has no releases.\n");
});
