/** A key that all instances share. */
export interface BusKey {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** What the instances share besides the bus. */
export interface SharedKeys {
  /** The time that all instances have, in milliseconds. */
  readonly nowMs: number;
  /** When this instance began to know which messages have arrived. */
  readonly startedAtMs: number;
  /** The key that seals; `undefined` if this instance has none. */
  readonly current: BusKey | undefined;
  find(id: string): BusKey | undefined;
}
