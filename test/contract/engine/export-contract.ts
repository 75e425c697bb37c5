import { describe, expect, test } from "vitest";
import { scanImage } from "../../../src/agent/contents/scan-image.ts";
import { contentDigest } from "../../../src/lib/layer-parts/content-digest.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import type { EngineHarness } from "./harness.ts";
import { expectKind, unaborted } from "./steps.ts";

const APP = uniqueName("exported");
const LABELS = { "io.edge-agent.app": APP, "io.edge-agent.state-dir": "/nowhere" };
const FILE = "/conf/app.conf";

export function exportContract(harness: () => EngineHarness): void {
  async function helpers(): Promise<readonly string[]> {
    const listed = await harness().engine.listContainers(unaborted);
    return listed.filter(({ labels }) => labels["io.edge-agent.helper"] === APP).map(({ name }) => name);
  }

  const exportOf = (image: string): AsyncGenerator<Uint8Array> =>
    harness().engine.exportImage({ image, labels: LABELS }, unaborted);

  describe("an exported image", () => {
    test("has the contents of its files, in the same order each time", async () => {
      const { engine, images } = harness();
      const contents = await scanImage(exportOf(images.ownUser));
      const request = { image: images.ownUser, labels: LABELS, paths: [FILE], maxBytes: 100_000 };
      const [file] = await engine.readImagePaths(request, unaborted);
      expect(contents.find(contentDigest(file?.content ?? Buffer.from("no such file")))).toBeDefined();
      expect((await scanImage(exportOf(images.ownUser))).encode()).toEqual(contents.encode());
      expect(await helpers()).toEqual([]);
    });

    test("leaves nothing behind if it is not read to its end", async () => {
      for await (const chunk of exportOf(harness().images.ownUser)) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
      expect(await helpers()).toEqual([]);
    });

    test("is an error if there is no such image", async () => {
      await expectKind(scanImage(exportOf(`localhost/${uniqueName("nobody")}:1`)), "image_not_found");
    });
  });
}
