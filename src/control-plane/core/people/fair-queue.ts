/** Limits of a `FairQueue`. */
export interface FairQueueLimits {
  /** Maximum that waits for one source. */
  readonly perSource: number;
  /** Maximum that waits in all, and as many of those that go first. */
  readonly total: number;
}

export interface Place {
  /** What the turns are shared between. */
  readonly source: string;
  /** Whether it goes before all that do not. */
  readonly goesFirst: boolean;
}

/**
 * Items in a queue in which sources take turns: a source with many waiting items delays its own, not those of others. When it
 * is full, the newest item of the source with the most makes room for another source.
 */
export class FairQueue<Item> {
  readonly #first: Lane<Item>;
  readonly #others: Lane<Item>;

  constructor(limits: FairQueueLimits) {
    this.#first = new Lane(limits);
    this.#others = new Lane(limits);
  }

  get size(): number {
    return this.#first.size + this.#others.size;
  }

  /** Adds an item. Returns the item for which there is no room: this one, another one, or none. */
  push(item: Item, { source, goesFirst }: Place): Item | undefined {
    return (goesFirst ? this.#first : this.#others).push(item, source);
  }

  /** Removes and returns the item whose turn it is; `undefined` if there is none. */
  shift(): Item | undefined {
    return this.#first.shift() ?? this.#others.shift();
  }

  /** Removes an item that need not be in the queue. */
  remove(item: Item, { source, goesFirst }: Place): void {
    (goesFirst ? this.#first : this.#others).remove(item, source);
  }
}

class Lane<Item> {
  readonly #limits: FairQueueLimits;
  /** By source, in the order of their turns. No list is empty. */
  readonly #waiting = new Map<string, Item[]>();
  #size = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  push(item: Item, source: string): Item | undefined {
    const items = this.#waiting.get(source) ?? [];
    if (items.length >= this.#limits.perSource) return item;
    const evicted = this.#size >= this.#limits.total ? this.#evict(items.length + 1) : undefined;
    if (this.#size >= this.#limits.total) return item;
    items.push(item);
    this.#waiting.set(source, items);
    this.#size++;
    return evicted;
  }

  shift(): Item | undefined {
    const [next] = this.#waiting;
    if (!next) return undefined;
    const [source, items] = next;
    const item = items.shift();
    // To the end: the next turn is another source's.
    this.#waiting.delete(source);
    if (items.length > 0) this.#waiting.set(source, items);
    this.#size--;
    return item;
  }

  remove(item: Item, source: string): void {
    const items = this.#waiting.get(source) ?? [];
    const index = items.indexOf(item);
    if (index < 0) return;
    items.splice(index, 1);
    this.#size--;
    if (items.length === 0) this.#waiting.delete(source);
  }

  /** Removes the newest item of the source with the most, if those are more than `least`. */
  #evict(least: number): Item | undefined {
    let longest: Item[] = [];
    for (const items of this.#waiting.values()) if (items.length > longest.length) longest = items;
    if (longest.length <= least) return undefined;
    this.#size--;
    return longest.pop();
  }
}
