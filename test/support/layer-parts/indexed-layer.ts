import { readLayerIndex } from "../../../src/lib/layer-parts/layer-index/read-index.ts";
import { writeLayerIndex } from "../../../src/lib/layer-parts/layer-index/write-index.ts";
import type { LayerLayout } from "../../../src/lib/layer-parts/layer-layout.ts";
import { diffIdOf, inPieces } from "./tars.ts";

export interface IndexedTar {
  readonly index: Uint8Array;
  readonly pack: Buffer;
  readonly diffId: string;
  readonly layout: LayerLayout;
}

/** Writes the index of a tar and reads it back. */
export async function indexTar(tar: Uint8Array, pieceBytes?: readonly number[]): Promise<IndexedTar> {
  const diffId = diffIdOf(tar);
  const written: Uint8Array[] = [];
  const { index, packSize } = await writeLayerIndex(
    inPieces(tar, pieceBytes),
    diffId,
    (bytes) => void written.push(bytes),
  );
  return { index, pack: Buffer.concat(written), diffId, layout: readLayerIndex(index, { diffId, packSize }) };
}
