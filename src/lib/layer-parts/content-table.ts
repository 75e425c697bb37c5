import { CONTENT_DIGEST_BYTES } from "./content-digest.ts";
import { type Content, type ContentDigest, type ContentPart, LayoutError } from "./layer-layout.ts";

const FIRST_CAPACITY = 256;
const FORMS: readonly ContentPart["compression"][] = ["zstd", "gzip", "none", "zeros"];

/** Contents with their parts in little memory: about 60 bytes for a part. All are in one blob. */
export class ContentTable {
  readonly #maxEntries: number;
  readonly #blob: ContentPart["blob"];
  #digests = Buffer.alloc(FIRST_CAPACITY * CONTENT_DIGEST_BYTES);
  readonly #sizes: number[] = [];
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];
  readonly #forms: number[] = [];
  /** The first part of each content. */
  readonly #first: number[] = [];
  /** Digests of contents with several parts. */
  readonly #whole = new Map<number, ContentDigest>();

  constructor(blob: ContentPart["blob"], maxEntries: number) {
    this.#blob = blob;
    this.#maxEntries = maxEntries;
  }

  get length(): number {
    return this.#first.length;
  }

  /** @throws {LayoutError} if there are too many */
  add(content: Pick<Content, "digest" | "parts">): void {
    if (content.parts.length > 1) this.#whole.set(this.#first.length, content.digest);
    this.#first.push(this.#sizes.length);
    if (this.#first.length + this.#sizes.length + content.parts.length > this.#maxEntries) {
      throw new LayoutError(`more than ${this.#maxEntries} files and parts`);
    }
    for (const part of content.parts) this.#addPart(part);
  }

  at(index: number): Content {
    const first = this.#first[index] ?? 0;
    const end = this.#first[index + 1] ?? this.#sizes.length;
    const parts: ContentPart[] = [];
    let size = 0;
    for (let at = first; at < end; at++) {
      const part = this.#part(at);
      parts.push(part);
      size += part.size;
    }
    return { digest: this.#whole.get(index) ?? this.#digest(first), size, parts };
  }

  *contents(): Generator<Content> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  #addPart(part: ContentPart): void {
    const at = this.#sizes.length * CONTENT_DIGEST_BYTES;
    if (at === this.#digests.length) this.#digests = Buffer.concat([this.#digests], this.#digests.length * 2);
    this.#digests.write(part.digest, at, "hex");
    this.#sizes.push(part.size);
    this.#offsets.push(part.offset);
    this.#lengths.push(part.length);
    this.#forms.push(FORMS.indexOf(part.compression));
  }

  #part(at: number): ContentPart {
    return {
      digest: this.#digest(at),
      size: this.#sizes[at] ?? 0,
      blob: this.#blob,
      offset: this.#offsets[at] ?? 0,
      length: this.#lengths[at] ?? 0,
      compression: FORMS[this.#forms[at] ?? 0] ?? "zstd",
    };
  }

  #digest(at: number): ContentDigest {
    return this.#digests.toString("hex", at * CONTENT_DIGEST_BYTES, (at + 1) * CONTENT_DIGEST_BYTES);
  }
}
