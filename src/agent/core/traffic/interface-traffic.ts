/** What an interface has carried since it came up, as the kernel counts it. */
export interface InterfaceCounters {
  readonly name: string;
  readonly sent: number;
  readonly received: number;
}

/** Counters as they were when they were last looked at. */
export interface CounterMark extends InterfaceCounters {
  /** The boot of the machine they were counted in. */
  readonly bootId: string;
}

/**
 * What each interface carried since the last look. A counter begins anew with each boot, and when its interface does:
 * then all of it is new. The very first look of all only marks where counting begins.
 *
 * @param marks of the last look; empty where there was none
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
