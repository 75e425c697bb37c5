import { type JsonKind, parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import { ReleaseError } from "./release-error.ts";
import { isVersion } from "../../protocol/agents/version-order.ts";

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/**
 * Reads fields of a JSON object. Without a schema library: the updater, which runs as root, has no dependencies. Every
 * function throws a `ReleaseError` of code `malformed` that names the field.
 */
export class Fields {
  readonly #what: string;
  readonly #value: Readonly<Record<string, unknown>>;

  constructor(what: string, value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new ReleaseError("malformed", `${what} is not an object`);
    this.#what = what;
    this.#value = value as Readonly<Record<string, unknown>>;
  }

  /** @param what names the document in errors */
  static parse(what: string, json: Uint8Array, kind: JsonKind = "short"): Fields {
    let value: unknown;
    try {
      value = parseBoundedJson(json, kind);
    } catch (error) {
      // The parser's message quotes the document.
      throw new ReleaseError("malformed", `${what} is not valid JSON, or too long`, { cause: error });
    }
    return new Fields(what, value);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#value, name);
  }

  text(name: string, pattern: RegExp = /^[\s\S]*$/): string {
    const value = this.#own(name);
    return typeof value === "string" && pattern.test(value) ? value : this.#fail(name);
  }

  version(name: string): string {
    const value = this.text(name);
    return isVersion(value) ? value : this.#fail(name);
  }

  digest(name: string): string {
    return this.text(name, DIGEST);
  }

  count(name: string): number {
    const value = this.#own(name);
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : this.#fail(name);
  }

  /** `false` if it is absent. */
  flag(name: string): boolean {
    const value = this.#own(name) ?? false;
    return typeof value === "boolean" ? value : this.#fail(name);
  }

  object(name: string): Fields {
    return new Fields(`${name} of ${this.#what}`, this.#own(name));
  }

  list(name: string): Fields[] {
    const value = this.#own(name);
    if (!Array.isArray(value)) return this.#fail(name);
    return value.map((entry: unknown) => new Fields(`an entry of ${name} of ${this.#what}`, entry));
  }

  digests(name: string): string[] {
    return this.texts(name, DIGEST);
  }

  texts(name: string, pattern: RegExp): string[] {
    const value = this.#own(name);
    if (!Array.isArray(value)) return this.#fail(name);
    return value.map((entry: unknown) => (typeof entry === "string" && pattern.test(entry) ? entry : this.#fail(name)));
  }

  #own(name: string): unknown {
    return this.has(name) ? this.#value[name] : undefined;
  }

  #fail(name: string): never {
    throw new ReleaseError("malformed", `${this.#what} has no valid ${name}`);
  }
}
