import { DigestTable } from "./digest-table.ts";
import { type Content, type ContentDigest, type ContentPart, LayoutError } from "./layer-layout.ts";

const FORMS: readonly ContentPart["compression"][] = ["zstd", "gzip", "none", "zeros"];
const ZEROS = FORMS.indexOf("zeros");

/**
 * Contents with their parts in little memory: about 70 bytes for a part. All are in one blob. A part that the blob has at several
 * places is at the first of them, so that it is fetched once.
 */
export class ContentTable {
  readonly #maxEntries: number;
  readonly #blob: ContentPart["blob"];
  readonly #digests = new DigestTable();
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
    return { digest: this.#whole.get(index) ?? this.#digests.at(first), size, parts };
  }

  *contents(): Generator<Content> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  #addPart(part: ContentPart): void {
    const first = this.#digests.add(part.digest);
    const isRepeated = part.compression !== "zeros" && this.#forms[first] !== ZEROS && this.#sizes[first] === part.size;
    const { offset, length, compression } = isRepeated ? this.#part(first) : part;
    this.#sizes.push(part.size);
    this.#offsets.push(offset);
    this.#lengths.push(length);
    this.#forms.push(FORMS.indexOf(compression));
  }

  #part(at: number): ContentPart {
    return {
      digest: this.#digests.at(at),
      size: this.#sizes[at] ?? 0,
      blob: this.#blob,
      offset: this.#offsets[at] ?? 0,
      length: this.#lengths[at] ?? 0,
      compression: FORMS[this.#forms[at] ?? 0] ?? "zstd",
    };
  }
}
