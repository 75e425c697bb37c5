import { EXIT, Failure } from "../failure.ts";
import {
  ACCEPT,
  type Descriptor,
  digestOf,
  documentKind,
  imageSchema,
  indexSchema,
  isManifestType,
} from "../../lib/registry/documents.ts";
import { pageInstead } from "../../lib/registry/foreign-answer.ts";
import { readDocumentBlob } from "./blobs.ts";
import { configSchema, type ImageConfig, parseDocument } from "./documents.ts";
import { registryErrors, wrongContent } from "./failures.ts";
import type { RegistrySession } from "./session.ts";

/** The image of one platform. */
export interface PlatformImage {
  /** Such as `linux/arm64`. */
  readonly platform: string;
  /** Its own manifest, not that of a list. */
  readonly manifest: { readonly mediaType: string; readonly digest: string; readonly size: number };
  /** As many as `config.rootfs.diff_ids`, in their order. */
  readonly layers: readonly Descriptor[];
  readonly config: ImageConfig;
}

/** Attestations are listed under a platform of their own. */
const NO_PLATFORM = "unknown";

/** Reads the images of a reference: one, or one for each platform of a list. Errors: exit codes 1, 3, 4 and 5. */
export async function readImages(session: RegistrySession): Promise<readonly PlatformImage[]> {
  const { host, name, reference } = session.address;
  const found = await readManifest(session, name);
  if (!documentKind(found.value, found.contentType).isIndex) return [await readImage(session, found)];
  const index = indexSchema.safeParse(found.value).data;
  if (!index) throw wrongContent(host, "something that is not a list of platforms");
  const entries = index.manifests.filter(
    (entry) => isManifestType(entry.mediaType) && entry.platform?.os !== NO_PLATFORM,
  );
  if (entries.length === 0) {
    throw new Failure(`${reference} lists no image for any platform.`, { exitCode: EXIT.notFound });
  }
  const images: PlatformImage[] = [];
  for (const { digest } of entries) images.push(await readImage(session, await readManifest(session, digest)));
  return images;
}

interface FoundManifest {
  readonly value: unknown;
  readonly bytes: Uint8Array;
  readonly contentType: string | undefined;
}

async function readManifest(session: RegistrySession, name: string): Promise<FoundManifest> {
  const { host, reference } = session.address;
  const response = await session.send(`manifests/${name}`, { headers: { Accept: ACCEPT } });
  const page = pageInstead(response);
  if (page) throw registryErrors.problem(page);
  if (response.status !== 200) throw await session.refusal(`the request for ${reference}`, response);
  const bytes = await session.readDocument(response);
  if (name.startsWith("sha256:") && digestOf(bytes) !== name)
    throw wrongContent(host, `a manifest that is not ${name}`);
  return { value: parseDocument(bytes), bytes, contentType: response.headers["content-type"] };
}

async function readImage(
  session: RegistrySession,
  { value, bytes, contentType }: FoundManifest,
): Promise<PlatformImage> {
  const { host } = session.address;
  const manifest = imageSchema.safeParse(value).data;
  if (!manifest) throw wrongContent(host, "something that is not the manifest of an image");
  const config = configSchema.safeParse(parseDocument(await readDocumentBlob(session, manifest.config))).data;
  if (!config) throw wrongContent(host, "something that is not the configuration of an image");
  if (config.rootfs.diff_ids.length !== manifest.layers.length) {
    throw wrongContent(host, "a manifest and a configuration that list different layers");
  }
  const { os, architecture, variant } = config;
  const own = (value as { mediaType?: unknown }).mediaType;
  const mediaType = typeof own === "string" ? own : documentKind(value, contentType).mediaType;
  return {
    platform: [os, architecture, ...(variant ? [variant] : [])].join("/"),
    manifest: { mediaType, digest: digestOf(bytes), size: bytes.length },
    layers: manifest.layers,
    config,
  };
}

/** Returns the images of one platform, or all. Errors: exit code 2 if there is none for it. */
export function selectPlatform(
  images: readonly PlatformImage[],
  platform: string | undefined,
  reference: string,
): readonly PlatformImage[] {
  const selected = images.filter((image) => platform === undefined || image.platform === platform);
  if (selected.length > 0) return selected;
  throw new Failure(`${reference} has no image for ${platform}.`, {
    exitCode: EXIT.usage,
    hint: `It has: ${images.map((image) => image.platform).join(", ")}.`,
  });
}
