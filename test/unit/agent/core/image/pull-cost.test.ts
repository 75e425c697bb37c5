import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type PullLimits,
  requiresKnownCost,
  computePullCost,
  costText,
  findCostRefusal,
  projectedBytes,
} from "../../../../../src/agent/core/image/pull-cost.ts";

const MB = 1_000_000;
const GZIP = "application/vnd.oci.image.layer.v1.tar+gzip";

const layers = fc.uniqueArray(fc.record({ id: fc.nat(20), size: fc.nat(100 * MB) }), {
  selector: ({ id }) => id,
  maxLength: 8,
});

function imageOf(list: readonly { readonly id: number; readonly size: number }[]) {
  return {
    layers: list.map(({ id, size }) => ({ mediaType: GZIP, digest: `layer ${id}`, size })),
    diffIds: list.map(({ id }) => `diff ${id}`),
  };
}

function total(list: readonly { readonly size: number }[]): number {
  return list.reduce((sum, { size }) => sum + size, 0);
}

const NO_BOUNDS: PullLimits = {
  maxImageBytes: undefined,
  deviceMaxDownloadBytes: undefined,
  requestMaxDownloadBytes: undefined,
  freeBytes: undefined,
  reserveBytes: 200 * MB,
};

describe("the cost of an image", () => {
  test("is that of the layers above the longest common base with one image on the engine", () => {
    fc.assert(
      fc.property(layers, fc.array(fc.array(fc.nat(20), { maxLength: 8 })), fc.nat(8), (list, others, kept) => {
        const image = imageOf(list);
        const chains = [...others.map((ids) => ids.map((id) => `diff ${id}`)), image.diffIds.slice(0, kept)];
        const { layersPresent, downloadBytes, imageBytes } = computePullCost(image, chains);
        expect(imageBytes).toBe(total(list));
        expect(downloadBytes).toBe(total(list.slice(layersPresent)));
        expect(layersPresent).toBeGreaterThanOrEqual(Math.min(kept, list.length));
        const prefix = JSON.stringify(image.diffIds.slice(0, layersPresent));
        expect(
          layersPresent === 0 || chains.some((chain) => JSON.stringify(chain.slice(0, layersPresent)) === prefix),
        ).toBe(true);
        const next = JSON.stringify(image.diffIds.slice(0, layersPresent + 1));
        const isMore = layersPresent < list.length;
        expect(isMore && chains.some((chain) => JSON.stringify(chain.slice(0, layersPresent + 1)) === next)).toBe(
          false,
        );
      }),
    );
  });

  test("counts layers that are present only above other layers", () => {
    const image = imageOf([
      { id: 1, size: 10 },
      { id: 2, size: 20 },
    ]);
    expect(computePullCost(image, [["diff 2"], ["diff 3", "diff 1", "diff 2"]])).toMatchObject({ layersPresent: 0 });
  });

  test("counts a layer that appears twice once for the download, and twice on disk", () => {
    const twice = { mediaType: GZIP, digest: "empty", size: 100 };
    const image = { layers: [twice, twice], diffIds: ["diff 1", "diff 1"] };
    expect(computePullCost(image, [])).toMatchObject({
      downloadBytes: 100,
      diskBytes: 400,
      imageBytes: 100,
      layers: 2,
    });
  });

  test("uses the size of uncompressed layers as it is", () => {
    const types = ["application/vnd.oci.image.layer.v1.tar", "application/vnd.docker.image.rootfs.diff.tar"];
    for (const mediaType of types) {
      const image = { layers: [{ mediaType, digest: "plain", size: 100 }], diffIds: ["diff"] };
      expect(computePullCost(image, []).diskBytes).toBe(100);
    }
  });

  test("is described with the number of layers", () => {
    const image = imageOf([
      { id: 1, size: 10 * MB },
      { id: 2, size: 2.5 * MB },
    ]);
    expect(costText(computePullCost(image, [["diff 1"]]))).toBe(
      "2.5 MB to download, in 1 of 2 layers; about 5.0 MB on disk.",
    );
    expect(costText(computePullCost(image, [image.diffIds]))).toBe("Nothing has to be downloaded.");
  });
});

describe("an image is refused", () => {
  const cost = computePullCost(imageOf([{ id: 1, size: 100 * MB }]), []);

  test("if it is larger than the policy allows, even if parts of it are present", () => {
    const present = computePullCost(imageOf([{ id: 1, size: 100 * MB }]), [["diff 1"]]);
    for (const of of [cost, present]) {
      expect(findCostRefusal(of, { ...NO_BOUNDS, maxImageBytes: 100 * MB - 1 })).toMatchObject({
        code: "PolicyDenied",
        details: { rule: "policy.max_image_bytes", image_bytes: 100 * MB, max_image_bytes: 100 * MB - 1 },
      });
      expect(findCostRefusal(of, { ...NO_BOUNDS, maxImageBytes: 100 * MB })).toBeUndefined();
    }
  });

  test.each([
    [{ requestMaxDownloadBytes: 50 * MB, deviceMaxDownloadBytes: 80 * MB }, 50 * MB, "request"],
    [{ requestMaxDownloadBytes: 90 * MB, deviceMaxDownloadBytes: 80 * MB }, 80 * MB, "device"],
    [{ requestMaxDownloadBytes: 0 }, 0, "request"],
    [{ deviceMaxDownloadBytes: 100 * MB - 1 }, 100 * MB - 1, "device"],
  ])("when it costs more than %o allows", (bounds, limit, whose) => {
    expect(findCostRefusal(cost, { ...NO_BOUNDS, ...bounds })).toMatchObject({
      code: "DataBudgetExceeded",
      details: { download_bytes: 100 * MB, max_download_bytes: limit, limit_of: whose },
    });
  });

  test("if less than the reserve would be free during unpacking", () => {
    const needed = 300 * MB;
    expect(findCostRefusal(cost, { ...NO_BOUNDS, freeBytes: needed + 200 * MB })).toBeUndefined();
    expect(findCostRefusal(cost, { ...NO_BOUNDS, freeBytes: needed + 200 * MB - 1 })).toMatchObject({
      code: "InsufficientDisk",
      details: { needed_bytes: needed, free_bytes: 500 * MB - 1, reserve_bytes: 200 * MB, download_bytes: 100 * MB },
    });
  });

  test("never if nothing has to be downloaded and its size is allowed", () => {
    fc.assert(
      fc.property(layers, fc.nat(), fc.nat(), (list, freeBytes, limit) => {
        const image = imageOf(list);
        const bounds = { ...NO_BOUNDS, freeBytes, requestMaxDownloadBytes: limit, deviceMaxDownloadBytes: limit };
        expect(findCostRefusal(computePullCost(image, [image.diffIds]), bounds)).toBeUndefined();
      }),
    );
  });

  test("without a known cost only if there is no limit", () => {
    const none = { maxImageBytes: undefined, deviceMaxDownloadBytes: undefined, requestMaxDownloadBytes: undefined };
    expect(requiresKnownCost(none)).toBe(false);
    for (const name of Object.keys(none)) expect(requiresKnownCost({ ...none, [name]: 0 })).toBe(true);
  });
});

describe("what a download comes to", () => {
  test("is its price while it goes well, by parts, and on a link that breaks", () => {
    expect(projectedBytes({ done: 0, total: 23 * MB, received: 0, cuts: 0 })).toBe(23 * MB);
    expect(projectedBytes({ done: 7 * MB, total: 7.1 * MB, received: 7.1 * MB, cuts: 0 })).toBe(7.1 * MB);
    expect(projectedBytes({ done: 10 * MB, total: 23 * MB, received: 10 * MB + 40 * 65_536, cuts: 40 })).toBe(23 * MB);
  });

  test("grows with what was received in vain", () => {
    expect(projectedBytes({ done: 0, total: 23 * MB, received: 21 * MB, cuts: 0 })).toBeGreaterThan(43 * MB);
  });
});
