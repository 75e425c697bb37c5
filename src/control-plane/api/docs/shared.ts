export type Fields = Readonly<Record<string, unknown>>;

/** @param given a name of its own, which it has in any case */
export type Named = readonly [name: string, value: unknown, given?: string | undefined];

/** Components of one kind: the values that occur more than once. */
export class Shared {
  readonly components: Record<string, unknown> = {};
  readonly #kind: string;
  readonly #taken: Fields;
  /** Name by the text of the value. */
  readonly #names = new Map<string, string>();

  /**
   * @param taken components whose names are not free
   * @param isWorth whether a value that occurs so often gets a name
   */
  constructor(
    kind: string,
    all: readonly Named[],
    taken: Fields = {},
    isWorth: (text: string, count: number, name: string) => boolean = () => true,
  ) {
    this.#kind = kind;
    this.#taken = taken;
    const byText = Map.groupBy(all, ([, value]) => JSON.stringify(value));
    const several = [...byText].filter(
      ([text, found]) => found.length > 1 && isWorth(text, found.length, (found[0] as Named)[0]),
    );
    // The value that is used most has the plain name.
    for (const [text, found] of several.toSorted(([, a], [, b]) => b.length - a.length)) {
      const [first, value] = found[0] as Named;
      const given = found.find(([, , each]) => each !== undefined)?.[2];
      const name = this.#freeName(given ?? first);
      this.components[name] = value;
      this.#names.set(text, name);
    }
  }

  /** The value itself, if it occurs only once. */
  reference(value: unknown): unknown {
    const name = this.#names.get(JSON.stringify(value));
    return name === undefined ? value : { $ref: `#/components/${this.#kind}/${name}` };
  }

  /** A number would reach clients as a name, and another value would have it after the next addition. */
  #freeName(name: string): string {
    if (!this.#isTaken(name)) return name;
    // No program has the names of examples.
    if (this.#kind === "examples") return this.#numbered(name);
    throw new Error(
      `the OpenAPI document has several ${this.#kind} called ${name}: component-names.ts is to tell them apart`,
    );
  }

  #numbered(name: string): string {
    for (let number = 2; ; number++) {
      if (!this.#isTaken(`${name}${number}`)) return `${name}${number}`;
    }
  }

  #isTaken(name: string): boolean {
    return name in this.components || name in this.#taken;
  }
}

export function isMap(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[_-])([a-z])/gi, (_match, letter: string) => letter.toUpperCase());
}

export function mapValues<T, R>(values: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
