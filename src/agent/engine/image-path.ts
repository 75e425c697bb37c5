import type { OwnerIds } from "../../protocol/apps/volume-fields.ts";

/** What an image has at a path, symbolic links followed. */
export interface ImagePath {
  readonly kind: "file" | "directory" | "other";
  /** Permission bits. */
  readonly mode: number;
  /** `undefined` with Podman, whose interface does not tell it. */
  readonly owner: OwnerIds | undefined;
  /** Content of a file that is not larger than the request allows. */
  readonly content: Uint8Array | undefined;
}

export interface ImagePathsRequest {
  /** Reference or id of an image on the machine. */
  readonly image: string;
  /** Labels of the app's container this is for: they tell whose a helper is that a crash left behind. */
  readonly labels: Readonly<Record<string, string>>;
  /** Absolute paths in the image. */
  readonly paths: readonly string[];
  /** Up to which size the content of a file is read. Default: no content. */
  readonly maxBytes?: number;
}

/** An image on the machine, and the app that it is read for. */
export type ExportRequest = Pick<ImagePathsRequest, "image" | "labels">;

export interface DirectoryRequest extends ExportRequest {
  /** Absolute path on the device. */
  readonly path: string;
  readonly owner: OwnerIds;
  /** Permission bits. */
  readonly mode: number;
}
