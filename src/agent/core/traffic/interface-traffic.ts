/** The kernel's byte counters of an interface, counted since it came up. */
export interface InterfaceCounters {
  readonly name: string;
  readonly sent: number;
  readonly received: number;
}

/** Counters as last read. */
export interface CounterMark extends InterfaceCounters {
  /** Id of the boot they were counted in. */
  readonly bootId: string;
}

/**
 * Returns the traffic of each interface since the last reading. A counter restarts with a boot and with its interface:
 * then all of it is new. The first reading returns nothing, it only sets the starting point.
 *
 * @param marks the last reading; empty if there was none
 */
export function carriedSince(
  marks: readonly CounterMark[],
  now: readonly InterfaceCounters[],
  bootId: string,
): InterfaceCounters[] {
  if (marks.length === 0) return [];
  return now.flatMap(({ name, sent, received }) => {
    const last = marks.find((mark) => mark.name === name && mark.bootId === bootId);
    const isSame = last !== undefined && sent >= last.sent && received >= last.received;
    const carried = isSame
      ? { name, sent: sent - last.sent, received: received - last.received }
      : { name, sent, received };
    return carried.sent + carried.received > 0 ? [carried] : [];
  });
}
