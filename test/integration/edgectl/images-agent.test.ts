import { expect, test } from "vitest";
import type { ImageIndex } from "../../../src/edgectl/images/index-image.ts";
import type { UpdateCost } from "../../../src/edgectl/images/explain-update.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { PartsRig } from "../../support/download/parts-rig.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { uniqueName } from "../../support/images.ts";
import { versionedImage } from "../../support/images/versioned-image.ts";

const socket = await dockerSocket();

test.skipIf(socket === undefined)(
  "an agent uses the index, and fetches to the byte what images explain says",
  async () => {
    await using rig = await PartsRig.start(socket ?? "");
    await using user = await edgectlUser();
    const run = async (...args: string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await user.run(["--json", "images", ...args], {
        env: { DOCKER_CONFIG: user.configDirectory },
      });
      expect([code, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout);
    };
    const seed = uniqueName("seed");
    const [old, next] = [
      await rig.push(await versionedImage({ seed, version: 1 }), "1"),
      await rig.push(await versionedImage({ seed, version: 2 }), "2"),
    ];
    await rig.download(old);
    const { indexes } = (await run("index", next)) as { indexes: ImageIndex[] };
    const cost = (await run("explain", old, next)) as UpdateCost;
    const { result, price, wholes } = await rig.download(next);
    expect(wholes).toEqual([]);
    const indexBytes = indexes[0]?.layers.reduce((sum, layer) => sum + (layer.index_bytes ?? 0), 0) ?? 0;
    expect(indexBytes).toBeGreaterThan(0);
    // The index is read before the price is known.
    expect([price, result.received]).toEqual([cost.parts_bytes - indexBytes, cost.parts_bytes - indexBytes]);
  },
);
