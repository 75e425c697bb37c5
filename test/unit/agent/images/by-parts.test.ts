import { describe, expect, it, onTestFinished } from "vitest";
import { AgentRig, type RigConfig } from "../../../support/agent-rig.ts";
import { digestsOf } from "../../../support/fake-engine/fake-image.ts";
import type { DeployOptions } from "../../../../src/protocol/apps/deploy-request.ts";

const MB = 1_000_000;
const IMAGE = "registry.example.com/team/app:1";
const PUBLISHED = { layers: [MB, 23.3 * MB] };

/** A device on which the upper layer of the image costs 0.7 MB by parts. */
function rigWith(config: Partial<RigConfig> = {}): AgentRig {
  const rig = new AgentRig({ pullBy: "agent", ...config });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  rig.engine.publish(IMAGE, PUBLISHED);
  const digest = digestsOf(PUBLISHED)[1] ?? "";
  rig.downloader.parts = new Map([[digest, { downloadBytes: 0.7 * MB, tarBytes: 80 * MB }]]);
  return rig;
}

async function deploy(rig: AgentRig, options: DeployOptions = {}) {
  rig.deployments.deploy("d1", { name: "web", image: IMAGE }, options);
  return await rig.untilEnd("d1");
}

describe("an image of which the device has most contents", () => {
  it("is announced with what will be fetched, and what is here", async () => {
    const rig = rigWith();
    await deploy(rig);
    const event = rig.events("d1").find(({ details }) => details?.["download_bytes"] !== undefined);
    expect(event).toMatchObject({
      message: "1.7 MB to download, in 2 of 2 layers; 22.6 of 24.3 MB are already here; about 82.0 MB on disk.",
      details: { download_bytes: 1.7 * MB, reused_bytes: 22.6 * MB, disk_bytes: 82 * MB, image_bytes: 24.3 * MB },
    });
  });

  it("costs in a dry run what will be fetched", async () => {
    const rig = rigWith();
    await deploy(rig, { dry_run: true });
    expect(rig.last("d1")?.details).toMatchObject({ download_bytes: 1.7 * MB, reused_bytes: 22.6 * MB });
  });

  it("is allowed by a limit on what will be fetched, and refused by a lower one", async () => {
    expect((await deploy(rigWith(), { max_download_bytes: 2 * MB }))?.status).toBe("Success");
    const refused = await deploy(rigWith(), { max_download_bytes: MB });
    expect(refused).toMatchObject({ code: "DataBudgetExceeded" });
    const own = rigWith({ maxDownloadBytes: MB });
    expect(await deploy(own)).toMatchObject({ code: "DataBudgetExceeded" });
  });

  it("corrects its price when contents are gone by the time they are used", async () => {
    const rig = rigWith();
    rig.downloader.losesContents = true;
    expect((await deploy(rig))?.status).toBe("Success");
    const prices = rig.events("d1").flatMap(({ details }) => details?.["download_bytes"] ?? []);
    expect(prices).toEqual([1.7 * MB, 24.3 * MB]);
    const corrected = rig.events("d1").find(({ message }) => message.includes("24.3 MB have to be downloaded"));
    expect(corrected?.message).toContain("instead of 1.7 MB");
  });

  it("is stopped by a limit when contents are gone, before the limit is passed", async () => {
    const rig = rigWith();
    rig.downloader.losesContents = true;
    const refused = await deploy(rig, { max_download_bytes: 2 * MB });
    expect(refused).toMatchObject({ code: "DataBudgetExceeded", details: { max_download_bytes: 2 * MB } });
    expect(rig.downloader.received).toBeLessThanOrEqual(2 * MB);
  });

  it("may spend no more on descriptions of layers than on the download", async () => {
    const rig = rigWith({ maxDownloadBytes: 3 * MB });
    await deploy(rig, { max_download_bytes: 2 * MB });
    expect(rig.downloader.planned[0]?.maxTableBytes).toBe(2 * MB);
  });

  it("needs space for what the engine gets: layers that are put together are not compressed", async () => {
    const rig = rigWith({ diskReserveBytes: 0 });
    rig.host.free = 160 * MB;
    const refused = await deploy(rig);
    expect(refused).toMatchObject({ code: "InsufficientDisk" });
    expect(rig.last("d1")?.details).toMatchObject({ needed_bytes: (82 + 81) * MB });
  });

  it("is not planned where the engine downloads", async () => {
    const rig = rigWith({ pullBy: "engine" });
    await deploy(rig);
    expect(rig.downloader.planned).toEqual([]);
    expect(rig.events("d1").some(({ message }) => message.includes("already here"))).toBe(false);
  });
});
