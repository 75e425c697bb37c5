import type { Value } from "../documents/value.ts";

/** The networks, volumes, configs or secrets of a file, by name. Remembers which of them services refer to. */
export class Definitions {
  readonly #values: ReadonlyMap<string, Value>;
  /** How often each is referred to. */
  readonly #used = new Map<string, number>();

  constructor(values: ReadonlyMap<string, Value>) {
    this.#values = values;
  }

  get names(): string[] {
    return [...this.#values.keys()];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** Returns a definition without counting it as used. */
  look(name: string): Value | undefined {
    return this.#values.get(name);
  }

  /** Returns a definition that a service refers to. */
  get(name: string): Value | undefined {
    if (this.#values.has(name)) this.#used.set(name, this.usesOf(name) + 1);
    return this.#values.get(name);
  }

  /** Returns how often services refer to a definition. */
  usesOf(name: string): number {
    return this.#used.get(name) ?? 0;
  }

  /** Those that services refer to, in the order of the file. */
  get used(): [name: string, value: Value][] {
    return [...this.#values].filter(([name]) => this.#used.has(name));
  }

  get unused(): string[] {
    return this.names.filter((name) => !this.#used.has(name));
  }
}
