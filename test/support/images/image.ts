import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";

/** Configuration of an image, as in Docker's image specification. */
export interface ImageConfig {
  readonly Cmd?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Env?: readonly string[];
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly StopSignal?: string;
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly User?: string;
  readonly Labels?: Readonly<Record<string, string>>;
  /** Durations in nanoseconds. */
  readonly Healthcheck?: {
    readonly Test: readonly string[];
    readonly Interval: number;
    readonly Timeout: number;
    readonly Retries: number;
    readonly StartPeriod?: number;
  };
}

export interface Layer {
  /** SHA-256 of the tar, with `sha256:` prefix. */
  readonly diffId: string;
  /** SHA-256 of the compressed tar, with `sha256:` prefix. */
  readonly digest: string;
  readonly tar: Buffer;
  readonly compressed: Buffer;
  /** Default: a tar compressed with gzip. */
  readonly mediaType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An image in memory that can be loaded into engines and pushed to registries. */
export interface Image {
  readonly config: Buffer;
  /** Digest of the configuration: the image id in Docker's classic image store. */
  readonly id: string;
  readonly layers: readonly Layer[];
}

export type FileEntry =
  | ({ readonly path: string; readonly content: string | Buffer; readonly mode?: number } & FileOwner)
  | { readonly path: string; readonly linkTo: string }
  | ({ readonly path: string; readonly directory: true; readonly mode?: number } & FileOwner);

/** Default: root. */
interface FileOwner {
  readonly uid?: number;
  readonly gid?: number;
}

/** Makes a layer of files. The same files always give the same digests. @param mtime of all files */
export async function fileLayer(files: readonly FileEntry[], mtime: Date = new Date(0)): Promise<Layer> {
  const archive = pack();
  for (const file of files) {
    const header = { name: file.path, mtime };
    if ("linkTo" in file) {
      archive.entry({ ...header, type: "symlink", linkname: file.linkTo });
      continue;
    }
    const { uid = 0, gid = 0 } = file;
    // A plain header has no room for large ones.
    const owner = { uid, gid, ...(gid > 0o777777 && { pax: { gid: String(gid) } }) };
    if ("directory" in file) archive.entry({ ...header, ...owner, type: "directory", mode: file.mode ?? 0o755 });
    else archive.entry({ ...header, ...owner, mode: file.mode ?? 0o644 }, file.content);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return layerOf(Buffer.concat(chunks));
}

function layerOf(tar: Buffer): Layer {
  // When it is asked for: engines load the tar.
  let compressed: Buffer | undefined;
  let digest: string | undefined;
  return {
    tar,
    diffId: sha256(tar),
    get compressed() {
      return (compressed ??= gzipSync(tar, { level: 1 }));
    },
    get digest() {
      return (digest ??= sha256(this.compressed));
    },
  };
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64", arm: "arm" };

/** The machine's architecture in the notation of images. */
function machineArchitecture(): string {
  return ARCHITECTURES[process.arch] ?? process.arch;
}

/** Builds an image. @param architecture in the notation of images; default the machine's */
export function buildImage(
  layers: readonly Layer[],
  config: ImageConfig,
  architecture: string = machineArchitecture(),
): Image {
  const created = "2026-01-01T00:00:00Z";
  const bytes = Buffer.from(
    JSON.stringify({
      architecture,
      os: "linux",
      created,
      config,
      rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.diffId) },
      history: layers.map(() => ({ created, created_by: "test" })),
    }),
  );
  return { config: bytes, id: sha256(bytes), layers };
}

/** Returns the image under a name in the format of `docker save`. */
export async function imageArchive(image: Image, name: string): Promise<Buffer> {
  const archive = pack();
  const configName = `${image.id.slice("sha256:".length)}.json`;
  const layerNames = image.layers.map((layer) => `${layer.diffId.slice("sha256:".length)}.tar`);
  archive.entry({ name: configName }, image.config);
  image.layers.forEach((layer, index) => archive.entry({ name: layerNames[index] ?? "" }, layer.tar));
  const manifest = [{ Config: configName, RepoTags: [name], Layers: layerNames }];
  archive.entry({ name: "manifest.json" }, JSON.stringify(manifest));
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** `sha256:` and the hash in hexadecimal. */
export function sha256(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
