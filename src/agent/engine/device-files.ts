import type { OwnerIds } from "../../protocol/apps/volume-fields.ts";
import type { ImagePathsRequest } from "./image-path.ts";

/** A file to write on the device. */
export interface DeviceFile {
  /** Name in the directory. */
  readonly name: string;
  readonly content: Uint8Array;
  readonly owner: OwnerIds;
  /** Permission bits. */
  readonly mode: number;
}

export interface DeviceFilesRequest extends Pick<ImagePathsRequest, "image" | "labels"> {
  /** Absolute path on the device of a directory that exists. */
  readonly directory: string;
  readonly files: readonly DeviceFile[];
}

export interface FilesReading extends Pick<ImagePathsRequest, "image" | "labels"> {
  readonly directory: string;
  /** Names in the directory. */
  readonly names: readonly string[];
  /** Maximum size of each. */
  readonly maxBytes: number;
}
