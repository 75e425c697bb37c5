/** Something that happened, from one source. */
export interface HistoryItem {
  /** Tells it apart within all sources. */
  readonly key: string;
  /** Unix seconds. */
  readonly at: number;
}

/** What has been loaded of one source, newest first. */
export interface TimeLineSource<T extends HistoryItem> {
  readonly items: readonly T[];
  /** Whether the source has older items that are not loaded yet. */
  readonly hasMore: boolean;
}

export interface TimeLine<T extends HistoryItem> {
  /** Newest first; each key once. */
  readonly items: readonly T[];
  readonly hasMore: boolean;
  /** Loaded items that are not shown yet, since another source may have something between them. */
  readonly heldBack: number;
  /** Numbers of the sources that have to be loaded on before older items can be shown. */
  readonly loadNext: readonly number[];
}

/**
 * Merges sources that are loaded page by page into one time line without holes: older than the oldest loaded item of a
 * source that goes on, nothing is shown until more of that source is loaded.
 */
export function mergeTimeLine<T extends HistoryItem>(sources: readonly TimeLineSource<T>[]): TimeLine<T> {
  const horizons = sources.map(({ items, hasMore }) => (hasMore ? (items.at(-1)?.at ?? Infinity) : -Infinity));
  const horizon = Math.max(-Infinity, ...horizons);
  const all = new Map<string, T>();
  for (const { items } of sources) for (const item of items) if (!all.has(item.key)) all.set(item.key, item);
  const sorted = [...all.values()].toSorted((a, b) => b.at - a.at || (a.key < b.key ? 1 : -1));
  const items = sorted.filter(({ at }) => at >= horizon);
  return {
    items,
    hasMore: sources.some(({ hasMore }) => hasMore),
    heldBack: sorted.length - items.length,
    loadNext: horizons.flatMap((at, index) => (at === horizon && at > -Infinity ? [index] : [])),
  };
}
