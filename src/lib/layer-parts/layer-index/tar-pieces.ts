import { LayoutError } from "../layer-layout.ts";
import { MAX_TAR_BYTES } from "../limits.ts";
import { paddingOf, parseTarHeader, paxSize, TAR_BLOCK_BYTES } from "./tar-header.ts";

/** An extended header; larger ones are no part of a layer. */
const MAX_PAX_BYTES = 1024 * 1024;

/** Bytes of a tar in their order. */
export type TarPiece =
  | { readonly kind: "literal" | "content"; readonly bytes: Uint8Array }
  /** The content of a regular file begins, of at least one byte. As many bytes of `content` follow, then `padding`. */
  | { readonly kind: "file"; readonly size: number }
  /** All of it at once. Empty if the content needs none. */
  | { readonly kind: "padding"; readonly bytes: Uint8Array };

type State = "header" | "pax" | "literal" | "content" | "padding" | "trailer";

/** Cuts a tar into headers and contents, without changing a byte. */
export class TarPieces {
  #state: State = "header";
  /** Bytes of the state that have not come. */
  #rest = TAR_BLOCK_BYTES;
  /** Bytes of a header, an extended header or a padding that is not complete. */
  #kept = Buffer.alloc(0);
  /** What follows the content or the extended header. */
  #padding = 0;
  /** From an extended header, for the next header. */
  #nextSize: number | undefined;
  #zeroBlocks = 0;

  /** @throws {LayoutError} if it is not a tar, or one with sparse files */
  *read(chunk: Uint8Array): Generator<TarPiece> {
    let at = 0;
    while (at < chunk.length) {
      const bytes = chunk.subarray(at, at + Math.min(this.#rest, chunk.length - at));
      at += bytes.length;
      this.#rest -= bytes.length;
      yield* this.#take(bytes);
    }
  }

  /** @throws {LayoutError} if the tar is cut off */
  end(): void {
    const isWhole = this.#state === "trailer" || (this.#state === "header" && this.#kept.length === 0);
    if (!isWhole) throw new LayoutError("the layer's tar is cut off");
  }

  *#take(bytes: Uint8Array): Generator<TarPiece> {
    if (this.#state === "literal" || this.#state === "trailer") yield { kind: "literal", bytes };
    else if (this.#state === "content") yield { kind: "content", bytes };
    else this.#kept = Buffer.concat([this.#kept, bytes]);
    if (this.#rest > 0) return;
    const kept = this.#kept;
    this.#kept = Buffer.alloc(0);
    yield* this.#next(kept);
    // A state of no length ends at once.
    while (this.#rest === 0) yield* this.#next(Buffer.alloc(0));
  }

  /** Ends a state. */
  *#next(kept: Buffer): Generator<TarPiece> {
    if (this.#state === "header") return yield* this.#header(kept);
    if (this.#state === "content") return this.#go("padding", this.#padding);
    if (this.#state === "padding") yield { kind: "padding", bytes: kept };
    if (this.#state === "pax") {
      yield { kind: "literal", bytes: kept };
      this.#nextSize = paxSize(kept);
      return this.#go("literal", this.#padding);
    }
    this.#go("header", TAR_BLOCK_BYTES);
  }

  *#header(block: Buffer): Generator<TarPiece> {
    yield { kind: "literal", bytes: block };
    const header = parseTarHeader(block);
    if (header === undefined) return this.#zeroBlock();
    this.#zeroBlocks = 0;
    const size = header.kind === "file" ? (this.#nextSize ?? header.size) : header.size;
    if (size > MAX_TAR_BYTES) throw new LayoutError(`the layer has a file of ${size} bytes`);
    const padding = paddingOf(size);
    if (header.kind === "pax") {
      if (size > MAX_PAX_BYTES) throw new LayoutError("the layer's tar has an extended header that is too long");
      this.#padding = padding;
      return this.#go("pax", size);
    }
    if (header.kind !== "metadata") this.#nextSize = undefined;
    if (header.kind !== "file" || size === 0) return this.#go("literal", size + padding);
    this.#padding = padding;
    yield { kind: "file", size };
    this.#go("content", size);
  }

  /** Two of them end a tar; what follows is kept as it is. */
  #zeroBlock(): void {
    if (++this.#zeroBlocks < 2) this.#go("header", TAR_BLOCK_BYTES);
    else this.#go("trailer", Infinity);
  }

  #go(state: State, length: number): void {
    this.#state = state;
    this.#rest = length;
  }
}
