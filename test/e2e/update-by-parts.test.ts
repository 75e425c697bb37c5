import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plainClient } from "../support/download/layer-rig.ts";
import { sleeperImage, uniqueName } from "../support/images.ts";
import { buildImage, type Image, type ImageConfig } from "../support/images/image.ts";
import { pushIndex } from "../support/images/push-index.ts";
import { versionedImage } from "../support/images/versioned-image.ts";
import { LossyLink } from "../support/link/lossy-link.ts";
import { Registry } from "../support/registry.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const seed = uniqueName("seed");
const repository = `${uniqueName("team")}/app`;

/** An app that runs, with many files. */
async function appImage(version: number): Promise<Image> {
  const runs = await sleeperImage(String(version));
  const files = await versionedImage({ seed, version, newBytes: 2_000_000 });
  const { config } = JSON.parse(runs.config.toString()) as { config: ImageConfig };
  return buildImage([...runs.layers, ...files.layers], config);
}

const owned = new AsyncDisposableStack();
let registry: Registry;
beforeAll(async () => {
  registry = owned.use(await Registry.start());
});
afterAll(() => owned.disposeAsync());

describe("an update of which the device has most contents", () => {
  const system = sharedSystem(async () => ({}));

  test("costs what changed, over a link that is cut every 500 kB, with the agent killed twice", async () => {
    await using link = await LossyLink.to(registry.port, { cutAfter: 500_000, bytesPerSecond: 2_000_000 });
    const [first, second] = [await appImage(1), await appImage(2)];
    const name = system().name();
    const reference = (image: string): string => system().removeImageLater(image.replace(registry.host, link.host));
    const old = reference(await registry.push(first, `${repository}:1`));
    expect((await system().deploy({ name, image: old })).final.status).toBe("Success");
    const image = reference(await registry.push(second, `${repository}:2`));
    const platform = { os: "linux", architecture: JSON.parse(second.config.toString()).architecture as string };
    const resolved = await plainClient().resolve(image, platform, undefined, AbortSignal.timeout(20_000));
    const { digest, mediaType, manifest } = resolved;
    await pushIndex(`http://${registry.host}`, repository, { digest, mediaType, size: manifest.length }, second);

    link.received = 0;
    const stream = await system().open({ name: system().name(), image });
    for (const bytes of [500_000, 1_200_000]) {
      await expect.poll(() => link.received, { timeout: 60_000 }).toBeGreaterThan(bytes);
      await system().agent.kill();
      await system().agent.restart({});
    }
    const { final, events } = await system().finish(stream);
    expect(final.status).toBe("Success");
    const cost = events.find(({ details }) => details?.["reused_bytes"] !== undefined);
    expect(cost?.message).toMatch(/[\d.]+ MB to download, .* of [\d.]+ MB are already here/);
    const whole = second.layers.reduce((sum, { compressed }) => sum + compressed.length, 0);
    expect(link.received).toBeLessThan(whole / 2);
  });
});
