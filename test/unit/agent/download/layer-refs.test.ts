import { expect, test } from "vitest";
import { withFreshLayerRefs } from "../../../../src/agent/download/layer-refs.ts";
import { digestOf } from "../../../../src/lib/registry/documents.ts";
import type { ResolvedImage } from "../../../../src/agent/registry/registry.ts";

const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: `sha256:${"1".repeat(64)}`, size: 5 };
const config = { mediaType: "application/vnd.oci.image.config.v1+json", digest: `sha256:${"2".repeat(64)}`, size: 2 };
const manifest = { schemaVersion: 2, config, layers: [{ ...layer, annotations: { note: "of the image's maker" } }] };
const bytes = Buffer.from(JSON.stringify(manifest));
const image: ResolvedImage = {
  reference: "registry.example.com/app:1",
  registry: "registry.example.com",
  repository: "app",
  digest: digestOf(bytes),
  mediaType: "application/vnd.oci.image.manifest.v1+json",
  manifest: bytes,
  config,
  configBytes: Buffer.from("{}"),
  diffIds: [],
  layers: [layer],
};

test("an image gets other layer refs each time, and its layers stay the same", () => {
  const renamed = [withFreshLayerRefs(image), withFreshLayerRefs(image)];
  expect(new Set([image, ...renamed].map(({ digest }) => digest)).size).toBe(3);
  for (const { manifest, digest, layers } of renamed) {
    expect(digestOf(manifest)).toBe(digest);
    expect(layers).toEqual([layer]);
    const named = { annotations: { "org.opencontainers.image.ref.name": expect.stringMatching(/^\w{32}$/) as string } };
    const text = new TextDecoder().decode(manifest);
    expect(JSON.parse(text)).toEqual({
      schemaVersion: 2,
      config: { ...config, ...named },
      layers: [{ ...layer, ...named }],
    });
  }
});
