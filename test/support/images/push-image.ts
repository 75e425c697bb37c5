import type { Image } from "./image.ts";
import { sha256 } from "./image.ts";

interface PushTarget {
  readonly repository: string;
  readonly tag: string;
  readonly headers: Readonly<Record<string, string>>;
}

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
/** Media type of the tagged manifests. */
export const MANIFEST_LIST = "application/vnd.docker.distribution.manifest.list.v2+json";
const CONFIG = "application/vnd.docker.container.image.v1+json";
const OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const OCI_CONFIG = "application/vnd.oci.image.config.v1+json";
const LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/**
 * Pushes an image through the registry's HTTP API, without an engine. The tag refers to a manifest list with one
 * platform, as with published images, so that engines detect a wrong platform.
 */
export async function pushImage(address: string, image: Image, target: PushTarget): Promise<void> {
  const base = `${address}/v2/${target.repository}`;
  await pushBlob(base, image.config, target.headers);
  for (const layer of image.layers) await pushBlob(base, layer.compressed, target.headers);
  // Docker's manifests know no layers but their own.
  const isOci = image.layers.some(({ mediaType }) => mediaType !== undefined);
  const [type, configType] = isOci ? [OCI_MANIFEST, OCI_CONFIG] : [MANIFEST, CONFIG];
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: type,
    config: { mediaType: configType, size: image.config.length, digest: image.id },
    layers: image.layers.map(({ compressed, digest, mediaType = LAYER, annotations }) => {
      return { mediaType, size: compressed.length, digest, ...(annotations && { annotations }) };
    }),
  });
  const digest = sha256(manifest);
  await pushManifest(`${base}/manifests/${digest}`, type, manifest, target.headers);
  const { architecture, os } = JSON.parse(image.config.toString()) as { architecture: string; os: string };
  const size = Buffer.byteLength(manifest);
  const list = {
    schemaVersion: 2,
    mediaType: MANIFEST_LIST,
    manifests: [{ mediaType: type, size, digest, platform: { architecture, os } }],
  };
  await pushManifest(`${base}/manifests/${target.tag}`, MANIFEST_LIST, JSON.stringify(list), target.headers);
}

export async function pushBlob(base: string, bytes: Buffer, headers: PushTarget["headers"]): Promise<void> {
  const digest = sha256(bytes);
  const known = await fetch(`${base}/blobs/${digest}`, { method: "HEAD", headers });
  if (known.status === 200) return;
  const opened = await fetch(`${base}/blobs/uploads/`, { method: "POST", headers });
  const location = await expectStatus(opened, 202).then(() => opened.headers.get("Location"));
  const upload = new URL(location ?? "", base);
  upload.searchParams.set("digest", digest);
  const type = { "Content-Type": "application/octet-stream" };
  const sent = await fetch(upload, { method: "PUT", headers: { ...headers, ...type }, body: new Uint8Array(bytes) });
  await expectStatus(sent, 201);
}

export async function pushManifest(
  url: string,
  type: string,
  body: string,
  headers: PushTarget["headers"],
): Promise<void> {
  await expectStatus(await fetch(url, { method: "PUT", headers: { ...headers, "Content-Type": type }, body }), 201);
}

async function expectStatus(response: Response, status: number): Promise<void> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`registry answered ${response.status} to ${response.url}: ${text}`);
}
