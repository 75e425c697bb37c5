import { describe, expect, test } from "vitest";
import type { ResolvedImage } from "../../../../src/agent/core/image/image.ts";
import { withUncompressedLayers } from "../../../../src/agent/download/by-parts/engine-manifest.ts";
import { digestOf } from "../../../../src/lib/registry/documents.ts";

const hash = (digit: string): string => `sha256:${digit.repeat(64)}`;

function imageOf(kind: "oci" | "docker", compression = "gzip"): ResolvedImage {
  const mediaType =
    kind === "oci"
      ? "application/vnd.oci.image.manifest.v1+json"
      : "application/vnd.docker.distribution.manifest.v2+json";
  const layers = ["1", "2"].map((digit) => ({
    mediaType: `application/vnd.oci.image.layer.v1.tar+${compression}`,
    digest: hash(digit),
    size: 100,
    annotations: { some: "table" },
  }));
  const config = { mediaType: "application/vnd.oci.image.config.v1+json", digest: hash("c"), size: 5 };
  const manifest = Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType, config, layers, annotations: { a: "b" } }),
  );
  const names = { reference: "r.example/app:1", registry: "r.example", repository: "app" };
  const diffIds = [hash("a"), hash("b")];
  return {
    ...names,
    digest: digestOf(manifest),
    mediaType,
    manifest,
    config,
    configBytes: Buffer.from("{}"),
    diffIds,
    layers,
  };
}

describe("the manifest that the engine gets", () => {
  test("is the registry's, byte for byte, if no layer is put together", () => {
    const image = imageOf("oci");
    expect(withUncompressedLayers(image, new Map([[hash("d"), 500]]))).toBe(image);
  });

  test.each([
    ["oci", "application/vnd.oci.image.layer.v1.tar"],
    ["docker", "application/vnd.docker.image.rootfs.diff.tar"],
  ] as const)("names layers that are put together by their diff ids (%s)", (kind, mediaType) => {
    const image = imageOf(kind);
    const given = withUncompressedLayers(image, new Map([[hash("b"), 500]]));
    const tar = { mediaType, digest: hash("b"), size: 500 };
    expect(given.layers).toEqual([image.layers[0], tar]);
    expect(given.digest).toBe(digestOf(given.manifest));
    const manifest = JSON.parse(Buffer.from(given.manifest).toString()) as object;
    expect(manifest).toEqual({ ...JSON.parse(Buffer.from(image.manifest).toString()), layers: given.layers });
    // The configuration, and with it the image's id, stays.
    expect([given.config, given.configBytes, given.diffIds]).toEqual([image.config, image.configBytes, image.diffIds]);
  });
});
