export type Fields = Readonly<Record<string, unknown>>;

export type Named = readonly [name: string, value: unknown];

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
    for (const [text, [first]] of several.toSorted(([, a], [, b]) => b.length - a.length)) {
      const [name, value] = first as Named;
      const free = this.#freeName(name);
      this.components[free] = value;
      this.#names.set(text, free);
    }
  }

  /** The value itself, if it occurs only once. */
  reference(value: unknown): unknown {
    const name = this.#names.get(JSON.stringify(value));
    return name === undefined ? value : { $ref: `#/components/${this.#kind}/${name}` };
  }

  #freeName(name: string): string {
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : `${name}${number}`;
      if (!(candidate in this.components) && !(candidate in this.#taken)) return candidate;
    }
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
