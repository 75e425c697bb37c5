import { MASKED_VALUE, MIN_SECRET_LENGTH } from "../protocol/apps/secret-texts.ts";
import { secretForms } from "./secret-forms.ts";

/** Replaces a secret. */
export const MASK = MASKED_VALUE;

/** Above this number of forms further secrets are only masked verbatim, to bound memory. */
const MAX_FORMS = 4_096;
/** Forms are indexed by this many first characters. */
const KEY_LENGTH = MIN_SECRET_LENGTH;
/** A shorter end of a secret at the start of a text may be a common word and is not masked. */
const MIN_TAIL_LENGTH = 8;
const FILTER_ENTRIES = 65_536;

export interface Truncation {
  /** The text is truncated at its end, or if it ends with an ellipsis: the start of a secret there is masked too. */
  readonly atEnd?: boolean | "if_ellipsis";
  /** The text may begin within a secret: the end of a secret there is masked too. */
  readonly atStart?: boolean;
}

/**
 * Masks a set of secrets in texts, in all forms of `secretForms`. Created once for many texts. The time for a text
 * depends on its length and hardly on the number of secrets.
 */
export class SecretMasker {
  /** Forms by the key of their first characters, the longest first. */
  readonly #forms = new Map<number, string[]>();
  /** A Bloom filter of the keys: excludes most positions of a text without a lookup. */
  readonly #filter = new Uint8Array(FILTER_ENTRIES);

  constructor(secrets: readonly string[]) {
    const forms = new Set<string>();
    for (const secret of new Set(secrets)) {
      if (secret.length < MIN_SECRET_LENGTH) continue;
      const all = forms.size < MAX_FORMS ? secretForms(secret) : [secret];
      for (const form of all) if (form.length >= MIN_SECRET_LENGTH) forms.add(form);
    }
    for (const form of [...forms].toSorted((a, b) => b.length - a.length)) {
      const key = keyOf(form);
      this.#filter[filterIndex(key)] = 1;
      const sameKey = this.#forms.get(key);
      if (sameKey) sameKey.push(form);
      else this.#forms.set(key, [form]);
    }
  }

  /** Returns the text with every secret replaced. */
  mask(text: string, { atEnd = false, atStart = false }: Truncation = {}): string {
    if (this.#forms.size === 0 || text.length < KEY_LENGTH) return text;
    const end = text.length - (atEnd === "if_ellipsis" ? ellipsisLength(text) : 0);
    const isCut = atEnd === true || end < text.length;
    const spans = this.#find(text);
    const tail = isCut ? this.#findCutAtEnd(text.slice(0, end)) : undefined;
    if (tail !== undefined) spans.push([tail, end]);
    const head = atStart ? this.#findCutAtStart(text) : 0;
    if (head > 0) spans.unshift([0, head]);
    return spans.length === 0 ? text : replaceSpans(text, spans);
  }

  #find(text: string): [from: number, to: number][] {
    const spans: [number, number][] = [];
    let key = 0;
    for (let at = 0; at < text.length; at++) {
      key = (key << 8) | (text.charCodeAt(at) & 0xff);
      if (at < KEY_LENGTH - 1 || this.#filter[filterIndex(key)] === 0) continue;
      const from = at - KEY_LENGTH + 1;
      const form = this.#forms.get(key)?.find((one) => text.startsWith(one, from));
      if (form !== undefined) spans.push([from, from + form.length]);
    }
    return spans;
  }

  /** Returns the position at which the text ends with the start of a form. */
  #findCutAtEnd(text: string): number | undefined {
    let first: number | undefined;
    for (const form of this.#allForms()) {
      const head = form.slice(0, KEY_LENGTH);
      const from = Math.max(0, text.length - form.length + 1);
      for (let at = text.indexOf(head, from); at >= 0; at = text.indexOf(head, at + 1)) {
        if (!form.startsWith(text.slice(at))) continue;
        first = Math.min(first ?? at, at);
        break;
      }
    }
    return first;
  }

  /** Returns the length of the longest end of a form that the text begins with. */
  #findCutAtStart(text: string): number {
    let longest = 0;
    for (const form of this.#allForms()) {
      const tail = form.slice(-MIN_TAIL_LENGTH);
      const before = Math.min(text.length, form.length - 1);
      if (before < MIN_TAIL_LENGTH) continue;
      for (let at = text.lastIndexOf(tail, before - MIN_TAIL_LENGTH); at >= 0; at = text.lastIndexOf(tail, at - 1)) {
        const length = at + MIN_TAIL_LENGTH;
        if (form.endsWith(text.slice(0, length))) longest = Math.max(longest, length);
        if (longest >= length || at === 0) break;
      }
    }
    return longest;
  }

  *#allForms(): Generator<string> {
    for (const forms of this.#forms.values()) yield* forms;
  }
}

function replaceSpans(text: string, spans: readonly (readonly [from: number, to: number])[]): string {
  let masked = "";
  let end = 0;
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    // Overlapping or adjacent secrets are masked as one.
    if (from > end || masked === "") masked += text.slice(end, from) + MASK;
    end = Math.max(end, to);
  }
  return masked + text.slice(end);
}

function ellipsisLength(text: string): number {
  return ["…", "..."].find((dots) => text.endsWith(dots))?.length ?? 0;
}

/** Combines the low bytes of the first characters. Others may have the same key, which costs a comparison. */
function keyOf(form: string): number {
  let key = 0;
  for (let at = 0; at < KEY_LENGTH; at++) key = (key << 8) | (form.charCodeAt(at) & 0xff);
  return key;
}

function filterIndex(key: number): number {
  return (key ^ (key >>> 16)) & (FILTER_ENTRIES - 1);
}
