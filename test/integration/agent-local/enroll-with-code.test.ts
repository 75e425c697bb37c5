import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issueCode } from "../../../src/control-plane/assets/enrolment-codes.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { type ControlPlane, startControlPlane, type TestAsset } from "../../support/control-plane.ts";
import { run } from "../../support/command.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";

describe("enroll with a code", () => {
  let device: LocalAgent;
  let plane: ControlPlane;
  let given: TestAsset;
  beforeEach(async () => {
    device = await LocalAgent.create();
    plane = await startControlPlane();
    given = await plane.asset(await plane.account());
  });
  afterEach(async () => {
    await plane[Symbol.asyncDispose]();
    await device[Symbol.asyncDispose]();
  });

  const makeCode = async () =>
    (await issueCode({ ...plane, clock: systemClock }, given.uuid, { validS: 3600, mayReplace: true })).code;
  const tokenPath = (): string => join(device.directory, "token");
  const attemptPath = (): string => join(device.directory, ".enrolment");

  it("stores a token of its own, with which the agent links; the old one is void", async () => {
    await rm(device.configPath);
    const code = await makeCode();
    const { code: exit, stdout, stderr } = await device.command("enroll", "--url", plane.url, "--code", code);
    expect([exit, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`knows this device as ${given.asset.serialNumber}`);
    const config = JSON.parse(await readFile(device.configPath, "utf8")) as Record<string, unknown>;
    expect(config["control_plane_url"]).toBe(plane.agentUrl);
    const token = (await readFile(tokenPath(), "utf8")).trim();
    await using _linked = await FakeDevice.connect(plane.agentUrl, token);
    await expect(FakeDevice.connect(plane.agentUrl, given.deviceToken)).rejects.toThrow(/401/);
    expect(existsSync(attemptPath())).toBe(false);
    expect(stdout + JSON.stringify(config)).not.toContain(token);
  });

  it("changes nothing with a code that is wrong or used, and says what to do", async () => {
    const before = await readFile(device.configPath, "utf8");
    const wrong = await device.command("enroll", "--url", plane.url, "--code", "00000-00000");
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no such enrolment code[^]*typing errors/) as string,
    });
    const noCode = await device.command("enroll", "--url", plane.url, "--code", "hello");
    expect(noCode).toMatchObject({ code: 2, stderr: expect.stringContaining("ten letters and digits") as string });
    const both = await device.command("enroll", "--url", plane.url, "--code", "0000000000", "--token-file", "x");
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("either --code or --token-file") as string });
    expect(await readFile(device.configPath, "utf8")).toBe(before);
    expect(existsSync(tokenPath())).toBe(false);
  });

  it("enrols with the same command again after the response was lost", async () => {
    const code = await makeCode();
    const before = await readFile(device.configPath, "utf8");
    await using relay = await TcpRelay.to(Number(new URL(plane.url).port));
    const command = () => device.command("enroll", "--url", `http://127.0.0.1:${relay.port}`, "--code", code);
    relay.loses = "device_token";
    const lost = await command();
    expect(lost).toMatchObject({ code: 1, stderr: expect.stringContaining("same code") as string });
    expect(await readFile(device.configPath, "utf8")).toBe(before);
    await using still = await FakeDevice.connect(plane.agentUrl, given.deviceToken);
    expect(still.isClosed).toBe(false);
    relay.loses = undefined;
    expect(await command()).toMatchObject({ code: 0 });
  });

  it("uses no code if the token could not be stored", async () => {
    const code = await makeCode();
    // Below a file not even root can write.
    const blocked = join(device.configPath, "below", "config.json");
    const args = ["src/agent/main.ts", "enroll", "--url", plane.url, "--code", code, "--config", blocked];
    expect(await run(process.execPath, args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Nothing was changed") as string,
    });
    expect((await device.command("enroll", "--url", plane.url, "--code", code)).code).toBe(0);
  });
});
