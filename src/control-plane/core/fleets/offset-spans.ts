/** A span of time in which a zone keeps one offset from UTC. Unix milliseconds, `fromMs` inclusive, `toMs` exclusive. */
export interface OffsetSpan {
  readonly fromMs: number;
  readonly toMs: number;
  /** Wall-clock time less UTC. */
  readonly offsetMs: number;
}

/** Returns the offsets of a zone between two times, in order; `undefined` if this service does not know the zone. */
export function offsetSpans(zone: string, fromMs: number, toMs: number): readonly OffsetSpan[] | undefined {
  const spans: OffsetSpan[] = [];
  const start = zonedTime(zone, fromMs);
  if (start === undefined) return undefined;
  let at: Temporal.ZonedDateTime | null = start;
  while (at !== null && at.epochMilliseconds < toMs) {
    const next: Temporal.ZonedDateTime | null = at.getTimeZoneTransition("next");
    const endMs = Math.min(next?.epochMilliseconds ?? toMs, toMs);
    spans.push({ fromMs: at.epochMilliseconds, toMs: endMs, offsetMs: at.offsetNanoseconds / 1_000_000 });
    at = next;
  }
  return spans;
}

function zonedTime(zone: string, atMs: number): Temporal.ZonedDateTime | undefined {
  try {
    return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
