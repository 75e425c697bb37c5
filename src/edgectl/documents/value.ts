import { MASKED_VALUE } from "../../protocol/apps/secret-texts.ts";
import type { DocumentNode, Place, ScalarNode } from "./node.ts";
import type { Problems } from "./problems.ts";

/** A value of a document with the name that messages call it by. Readers return `undefined` after adding a problem. */
export class Value {
  readonly node: DocumentNode;
  /** Such as `services.web.ports[0]`. */
  readonly path: string;
  /** Of the key, or of the list's entry. */
  readonly place: Place;
  readonly #problems: Problems;

  constructor(node: DocumentNode, problems: Problems, path = "", place: Place = node.place) {
    this.node = node;
    this.path = path;
    this.place = place;
    this.#problems = problems;
  }

  get isNull(): boolean {
    return this.node.kind === "scalar" && this.node.value === null;
  }

  get isText(): boolean {
    return this.node.kind === "scalar" && typeof this.node.value === "string";
  }

  get isList(): boolean {
    return this.node.kind === "list";
  }

  get isMap(): boolean {
    return this.node.kind === "map";
  }

  /** The variables that were put into a text, by name. */
  get inserted(): ReadonlyMap<string, string> {
    return (this.node.kind === "scalar" && this.node.inserted) || new Map();
  }

  /** Adds a problem with this value. @returns `undefined`, for readers to return */
  refuse(problem: string, advice?: string): undefined {
    if (this.#isRefused) return;
    this.#problems.add(this.place, this.path === "" ? problem : `${this.path} ${problem}`, advice);
  }

  note(text: string): void {
    this.#problems.note(this.place, `${this.path} ${text}`);
  }

  /** Keeps a secret out of everything that is reported about the document. */
  hide(secret: string): void {
    this.#problems.hide(secret, MASKED_VALUE);
  }

  /** A text, a number or a boolean as written. */
  text(): string | undefined {
    return this.#scalar("a text")?.source;
  }

  boolean(): boolean | undefined {
    const text = this.#scalar("true or false")?.source.toLowerCase();
    if (text === undefined) return undefined;
    if (["true", "yes", "on", "1"].includes(text)) return true;
    return ["false", "no", "off", "0"].includes(text) ? false : this.refuse("must be true or false.");
  }

  number(): number | undefined {
    const text = this.#scalar("a number")?.source;
    if (text === undefined) return undefined;
    return /^[+-]?(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})$/.test(text) ? Number(text) : this.refuse("must be a number.");
  }

  wholeNumber(): number | undefined {
    const number = this.number();
    return number === undefined || Number.isInteger(number) ? number : this.refuse("must be a whole number.");
  }

  /** A list's entries. */
  items(): Value[] {
    if (this.node.kind !== "list") {
      this.refuse("must be a list.");
      return [];
    }
    return this.node.items.map((item, index) => new Value(item, this.#problems, `${this.path}[${index}]`));
  }

  /** A map's entries. Nothing counts as an empty map. */
  fields(): ReadonlyMap<string, Value> {
    if (this.isNull) return new Map();
    if (this.node.kind !== "map") {
      this.refuse("must be a map of keys and values.");
      return new Map();
    }
    const path = this.path === "" ? "" : `${this.path}.`;
    return new Map(
      this.node.entries.map(({ key, place, value }) => [key, new Value(value, this.#problems, path + key, place)]),
    );
  }

  /** A list of texts, or one text. */
  textOrTexts(): string[] {
    const values = this.isList ? this.items() : [this];
    return values.flatMap((value) => value.text() ?? []);
  }

  get #isRefused(): boolean {
    return this.node.kind === "scalar" && this.node.isRefused === true;
  }

  #scalar(expected: string): ScalarNode | undefined {
    if (this.#isRefused) return undefined;
    if (this.node.kind === "scalar" && this.node.value !== null) return this.node;
    return this.refuse(`must be ${expected}.`);
  }
}
