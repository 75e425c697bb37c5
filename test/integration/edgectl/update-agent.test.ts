import { describe, expect, test } from "vitest";
import { documented } from "../../support/documentation.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { event, startScriptedService, stream } from "../../support/edgectl/scripted-service.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const AGENT = "/v1/assets/GW-1/edge/agent";
const IMAGE = "registry.example.com/team/edge-agent:1.5.0";

async function setUp() {
  const service = await startScriptedService();
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY };
  return {
    service,
    run: (...args: string[]) => user.run(["assets", "update-agent", ...args], { env, input: "" }),
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

describe("edgectl assets update-agent", () => {
  test("sends what is asked for, and follows the update to its end", async () => {
    await using rig = await setUp();
    const message = "The agent is 1.5.0 now, and has confirmed that it works.";
    rig.service.on(`POST ${AGENT}`, stream([event(1), event(2, { status: "Success", step: "done", message })]));
    const { code, stdout } = await rig.run("GW-1", "--release", "1.5.0", "--downgrade", "--max-download", "2MB");
    expect([code, stdout]).toEqual([0, expect.stringContaining(message) as string]);
    expect(JSON.parse(rig.service.requests[0]?.body ?? "")).toEqual({
      version: "1.5.0",
      downgrade: true,
      max_download_bytes: 2_000_000,
    });
  });

  test("a dry run of an image is asked as one", async () => {
    await using rig = await setUp();
    const end = { status: "Success", step: "done", message: "Nothing was changed.", details: { dry_run: true } };
    rig.service.on(`POST ${AGENT}`, stream([event(1), event(2, end)]));
    expect((await rig.run("GW-1", "--image", IMAGE, "--again", "--dry-run")).code).toBe(0);
    expect(rig.service.requests[0]?.path).toBe(`${AGENT}?dry_run=true`);
    expect(JSON.parse(rig.service.requests[0]?.body ?? "")).toEqual({ image: IMAGE, again: true });
  });

  test("a release of the service is named as docs/agent-updates.md says", async () => {
    await using rig = await setUp();
    const path = "/v1/assets/GW-0001/edge/agent";
    rig.service.on(`POST ${path}`, stream([event(1), event(2, { status: "Success", step: "done" })]));
    for (const line of documented("docs/agent-updates.md", "From the control plane").split("\n")) {
      const [command = ""] = line.split(/ +#/);
      expect((await rig.run(...command.split(" ").slice(3))).code).toBe(0);
    }
    const sent = rig.service.requests.map((request) => [request.path, JSON.parse(request.body) as unknown]);
    expect(sent).toEqual([
      [`${path}?dry_run=true`, { version: "1.5.0" }],
      [path, { version: "1.5.0" }],
    ]);
  });

  test("a device that has gone back shows why, the last lines of the new version's log, and what to do", async () => {
    await using rig = await setUp();
    const details = { version: "1.5.0", reason: "crashed", logs: ["TypeError: broken"] };
    const end = {
      status: "Fail",
      step: "rolling_back",
      code: "AgentUpdateFailed",
      message: "It did not work.",
      details,
    };
    rig.service.on(`POST ${AGENT}`, stream([event(1), event(2, end)]));
    const { code, stderr } = await rig.run("GW-1", "--release", "1.5.0");
    expect(code).toBe(1);
    expect(stderr).toContain("It did not work.");
    expect(stderr).toContain("TypeError: broken");
    expect(stderr).toContain("--again");
  });

  test.each([[[]], [["--release", "1.5.0", "--image", IMAGE]]])("with %j nothing is sent", async (options) => {
    await using rig = await setUp();
    const { code, stderr } = await rig.run("GW-1", ...options);
    expect([code, rig.service.requests]).toEqual([2, []]);
    expect(stderr).toContain("--release VERSION or --image REF");
  });
});
