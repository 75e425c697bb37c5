import { chooseDownload, chooseParts, type DownloadChoice } from "../../../lib/layer-parts/decide.ts";
import type { BlobName, ContentPart, LayerLayout } from "../../../lib/layer-parts/layer-layout.ts";
import { REQUEST_COST, type Span, sumOfLengths } from "../../../lib/layer-parts/ranges.ts";
import type { Descriptor } from "../../registry/registry.ts";
import { PartsUnusable } from "../download-error.ts";
import type { RangePart } from "../range-part.ts";
import type { HeldContents } from "./held-contents.ts";
import { Repeats } from "./repeats.ts";

/** A blob of the registry of which ranges are fetched. */
export interface PlannedBlob {
  readonly name: BlobName;
  readonly descriptor: Descriptor;
  readonly part: RangePart;
}

export interface LayerPlanOptions {
  readonly layer: Descriptor;
  readonly layout: LayerLayout;
  readonly blobs: readonly PlannedBlob[];
  /** Bytes that finding the layout took and that are not of the layer's blob. */
  readonly descriptionBytes: number;
  readonly held: HeldContents;
  /** The engine cannot read the layer as it is in the registry: it is put together on the device whatever it costs. */
  readonly mustRebuild: boolean;
}

/** How a layer is put together from what the device has and what is fetched. */
export class LayerPlan {
  readonly layer: Descriptor;
  readonly layout: LayerLayout;
  readonly held: HeldContents;
  readonly blobs: readonly PlannedBlob[];
  readonly repeats: Repeats;
  readonly #mustRebuild: boolean;
  #choice: DownloadChoice;
  /** Bytes that were fetched by earlier choices. */
  #fetched = 0;

  /** Throws `PartsUnusable` if the whole layer costs less, and a `LayoutError` if parts are outside of their blobs. */
  constructor({ layer, layout, blobs, descriptionBytes, held, mustRebuild }: LayerPlanOptions) {
    this.layer = layer;
    this.layout = layout;
    this.held = held;
    this.blobs = blobs;
    this.repeats = new Repeats({ layerSize: layer.size, spentBytes: descriptionBytes, mustSucceed: mustRebuild });
    this.#mustRebuild = mustRebuild;
    this.#choice = this.#choose();
  }

  /** Bytes that are fetched by this plan, and how many of them are here by now. */
  get progress(): { readonly size: number; readonly done: number } {
    const missing = this.blobs.map(({ name, part }) => sumOfLengths(part.missing(this.spansOf(name))));
    const size = this.#fetched + this.#choice.bytes;
    return { size, done: missing.reduce((done, bytes) => done - bytes, size) };
  }

  /** The ranges to fetch of a blob. */
  spansOf(name: BlobName): readonly Span[] {
    return this.#choice.ranges.filter(({ blob }) => blob === name);
  }

  /** Throws `PartsUnusable` if the layer has no such blob. */
  blob(name: BlobName): PlannedBlob {
    const found = this.blobs.find((blob) => blob.name === name);
    if (!found) throw new PartsUnusable(`the layer has no ${name}`);
    return found;
  }

  /** Plans again, after an image turned out not to have what it should have. Throws as the constructor does. */
  replan(): void {
    const { done } = this.progress;
    this.#choice = this.#choose();
    this.#fetched = done;
  }

  #choose(): DownloadChoice {
    const question = {
      layout: this.layout,
      layerSize: this.layer.size,
      packSize: this.blobs.find(({ name }) => name === "pack")?.descriptor.size ?? 0,
      isHeld: (part: Pick<ContentPart, "digest" | "size">) => this.held.has(part),
      fetched: this.blobs.flatMap(({ name, part }) =>
        part.held.map(({ offset, length }) => ({ blob: name, offset, length })),
      ),
      cost: REQUEST_COST,
    } as const;
    // With an index, what is put together is not in the layer's own blob.
    if (this.#mustRebuild && this.layout.headers.blob === "pack") return chooseParts(question);
    const choice = chooseDownload(question);
    if (choice.by === "whole" && !this.#mustRebuild) throw new PartsUnusable("by parts it would cost more than whole");
    return choice;
  }
}
