import { describe, expect, test } from "vitest";
import { DownloadError } from "../../../../src/agent/download/download-error.ts";
import { LoopbackUnreachable } from "../../../../src/agent/download/ports.ts";
import type { Traffic } from "../../../../src/agent/ledger/ledger.ts";
import { withoutTimings } from "../../../../src/protocol/deployments/deployment-timings.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

const IMAGE = "registry.example.com/team/app:1";
const MOVING = "registry.example.com/team/app:latest";
const SIZE = 4_000_000;
const app = (image: string = IMAGE) => ({ name: "app", image });

const rigWith = (): AgentRig => new AgentRig({ pullBy: "agent" });

const isIts = ({ purpose, app, deployment }: Traffic): boolean => {
  return purpose === "pulls" && app === "app" && deployment === "d";
};

describe("an image downloaded by the agent", () => {
  test("shows bytes of bytes, the rate and the time left, and what it took in the end", async () => {
    await using rig = rigWith();
    rig.engine.publish(IMAGE, { pullMs: 10_000 });
    rig.deployments.deploy("d", app());
    expect((await rig.untilEnd("d"))?.status).toBe("Success");
    const messages = rig.events("d").map(({ message }) => message);
    expect(messages).toContainEqual(
      expect.stringMatching(/^Pulling image: \d+% \([\d.]+ of 4\.0 MB, [\d.]+ [kM]B\/s, \d+ s left\)\.$/),
    );
    expect(messages).toContain("The image is on the device: 4.0 MB were received.");
    expect(await rig.engine.inspectImage(IMAGE, new AbortController().signal)).toBeDefined();
  });

  test("reports no progress when it takes less than a second", async () => {
    await using rig = rigWith();
    rig.engine.publish(IMAGE, { pullMs: 900 });
    rig.deployments.deploy("d", app());
    expect((await rig.untilEnd("d"))?.status).toBe("Success");
    const messages = rig.events("d").map(({ message }) => message);
    expect(messages.filter((message) => message.startsWith("Pulling image:"))).toEqual([]);
    expect(messages).toContain("The image is on the device: 4.0 MB were received.");
  });

  test("goes on after a restart where it was, and says so", async () => {
    await using rig = rigWith();
    rig.engine.publish(IMAGE, { pullMs: 10_000 });
    rig.deployments.deploy("d", app());
    await rig.clock.advance(6_000);
    const before = rig.downloader.received;
    expect(before).toBeGreaterThan(0);
    await rig.restart();
    expect((await rig.untilEnd("d"))?.status).toBe("Success");
    expect(rig.downloader.received).toBe(SIZE);
    const at = (before / 1e6).toFixed(1);
    const messages = rig.events("d").map(({ message }) => message);
    expect(messages).toContain(`Going on where the download stopped, at ${at} of 4.0 MB.`);
  });

  test("is counted for the app and the deployment", async () => {
    await using rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.deployments.deploy("d", app());
    await rig.untilEnd("d");
    // And what the registry told of it beforehand.
    expect(rig.ledger.bytes(isIts) - SIZE).toBeGreaterThan(0);
    expect(rig.ledger.bytes(isIts) - SIZE).toBeLessThan(1000);
  });

  test.each([
    [
      new DownloadError("no_progress", "no byte came for 10 min"),
      "ImagePullBackOff",
      { reason: "no_progress", image: IMAGE },
    ],
    [
      new DownloadError("wrong_content", "the registry sent something else"),
      "ImagePullBackOff",
      { reason: "wrong_content", image: IMAGE },
    ],
    [new DownloadError("no_space", "the disk is full"), "InsufficientDisk", undefined],
  ])("that cannot be had fails by name: %s", async (failure, code, details) => {
    await using rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.downloader.failure = failure;
    rig.deployments.deploy("d", app());
    const end = await rig.untilEnd("d");
    expect(end).toMatchObject({ status: "Fail", code, step: "pulling" });
    expect(end?.message).toContain(failure.message);
    expect(withoutTimings(end?.details ?? {})).toEqual(details ?? {});
  });

  test("whose tag moves gives way to the one that is there, once the registry brings nothing", async () => {
    await using rig = rigWith();
    rig.engine.addImage(MOVING, { layers: [1] });
    rig.engine.publish(MOVING);
    rig.downloader.failure = new DownloadError("no_progress", "no byte came for 10 min");
    rig.deployments.deploy("d", app(MOVING));
    expect((await rig.untilEnd("d"))?.status).toBe("Success");
    const messages = rig.events("d").map(({ message }) => message);
    expect(messages).toContain(
      "The registry does not deliver the image (no byte came for 10 min); using the image that is on the device.",
    );
  });

  test.each([
    new LoopbackUnreachable("the engine cannot reach this machine's loopback"),
    new DownloadError("disk_failed", "/data/downloads cannot be used: EROFS"),
  ])("is left to the engine where the agent cannot do it: %s", async (failure) => {
    await using rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.downloader.failure = failure;
    rig.deployments.deploy("d", app());
    expect((await rig.untilEnd("d"))?.status).toBe("Success");
    const messages = rig.events("d").map(({ message }) => message);
    expect(messages).toContainEqual(expect.stringContaining(failure.message));
  });
});

describe("an image downloaded by the engine", () => {
  test("is counted as far as the engine tells", async () => {
    await using rig = new AgentRig({ pullBy: "engine" });
    rig.engine.publish(IMAGE, { pullMs: 5_000 });
    rig.deployments.deploy("d", app());
    await rig.untilEnd("d");
    // And what the registry told of it beforehand.
    expect(rig.ledger.bytes(isIts) - SIZE).toBeGreaterThan(0);
    expect(rig.ledger.bytes(isIts) - SIZE).toBeLessThan(1000);
  });
});
