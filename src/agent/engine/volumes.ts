import type { OwnerIds } from "../../protocol/apps/volume-fields.ts";
import type { ImagePathsRequest } from "./image-path.ts";

/** Volumes that the engine keeps. */
export interface EngineVolumes {
  /** Returns `undefined` if there is no volume of this name. */
  find(name: string, signal: AbortSignal): Promise<VolumeSummary | undefined>;
  /** Lists the volumes with the label. */
  list(label: Label, signal: AbortSignal): Promise<VolumeSummary[]>;
  /**
   * Makes a volume; no error if it exists. With `owner`, its directory then has that owner, and otherwise what the image
   * has at the target, or root. What the image has there is in it at the latest when a container with it has started;
   * later containers add nothing, also where it is empty.
   */
  create(request: VolumeRequest, signal: AbortSignal): Promise<void>;
  /** Removes a volume and what is in it. No error if it does not exist. Error `conflict` if a container has it. */
  remove(name: string, signal: AbortSignal): Promise<void>;
  /** Returns the bytes on disk of each volume by its name, as far as the engine tells. Slow: it reads directories. */
  measure(signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
}

/** A label that a volume must have. */
export interface Label {
  readonly key: string;
  readonly value: string;
}

export interface VolumeSummary {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Unix seconds; `undefined` if the engine does not tell. */
  readonly createdAt: number | undefined;
}

export interface VolumeRequest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly owner?: OwnerIds | undefined;
  /** What it is made for: the image, the labels of the app's container, and where the container mounts it. */
  readonly container: Pick<ImagePathsRequest, "image" | "labels"> & { readonly target: string };
}

/** A volume that a container mounts. */
export interface VolumeMount {
  readonly name: string;
  readonly target: string;
  readonly readonly: boolean;
  /** Whether the engine leaves it as it is, where it would fill an empty one with what the image has there. */
  readonly nocopy?: boolean;
  /** Directory in it that is mounted, which must exist. The engine follows no link out of the volume. */
  readonly subpath?: string;
  /** It was there before, and was not made with `create`: unless `nocopy`, the engine fills it if it is empty. */
  readonly isExternal?: true;
}
