import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, memo, type ReactNode, useEffect, useMemo, useRef } from "react";
import { Link } from "react-router";
import { formatDate } from "../../parts/durations.ts";
import { Reason } from "../../parts/reason.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type AssetRow, simsOf } from "./asset-row.ts";
import classes from "./assets.module.css";
import { type AssetColumn, type ColumnId, COLUMNS, gridOf } from "./columns.ts";
import { LinkState } from "./link-state.tsx";
import type { AssetListResult } from "./use-asset-list.ts";
import { useIsNarrow } from "./use-is-narrow.ts";

const ROW_HEIGHT_PX = 44;
/** On a phone a row has the name in one line and what matters below it. */
const NARROW_ROW_HEIGHT_PX = 76;
const OVERSCAN_ROWS = 12;
/** The next page is fetched when fewer rows than this are left below the visible ones. */
const FETCH_AHEAD_ROWS = 100;
const MAX_NAME_LENGTH = 200;

interface Props {
  readonly rows: readonly AssetRow[];
  readonly columns: readonly ColumnId[];
  readonly list: Pick<AssetListResult, "hasNextPage" | "isFetchingNextPage" | "fetchNextPage" | "isPlaceholderData">;
}

/** The rows that are in view, as plain elements: a list of 100,000 has about 40 of them. */
export function AssetTable({ rows, columns, list }: Props): ReactNode {
  const container = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow();
  const height = isNarrow ? NARROW_ROW_HEIGHT_PX : ROW_HEIGHT_PX;
  // The library's functions change with each scroll, so nothing here is memoized.
  // oxlint-disable-next-line react/incompatible-library
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => container.current,
    estimateSize: () => height,
    overscan: OVERSCAN_ROWS,
  });
  useEffect(() => virtualizer.measure(), [virtualizer, height]);
  const visible = virtualizer.getVirtualItems();
  useFetchAhead(visible.at(-1)?.index ?? 0, rows.length, list);
  const shown = useMemo(() => COLUMNS.filter(({ id }) => columns.includes(id)), [columns]);
  const style = useMemo(() => (isNarrow ? undefined : gridOf(columns)), [columns, isNarrow]);
  return (
    <div
      ref={container}
      className={classes.table}
      role="table"
      aria-label="Assets"
      aria-rowcount={list.hasNextPage ? -1 : rows.length + 1}
      data-outdated={list.isPlaceholderData || undefined}
      // What scrolls must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <div role="rowgroup" className={classes.head}>
        <div role="row" aria-rowindex={1} className={classes.row} style={style}>
          {shown.map(({ id, label }) => (
            <div role="columnheader" key={id} className={classes.cell}>
              {label}
            </div>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        className={classes.body}
        style={{ height: virtualizer.getTotalSize(), minWidth: style?.minWidth }}
      >
        {visible.map(({ index, start }) => {
          const row = rows[index];
          return (
            row && (
              <Row key={row.uuid} row={row} index={index} start={start} height={height} columns={shown} grid={style} />
            )
          );
        })}
      </div>
    </div>
  );
}

function useFetchAhead(lastVisible: number, count: number, list: Props["list"]): void {
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isPlaceholderData } = list;
  useEffect(() => {
    const isNear = lastVisible >= count - FETCH_AHEAD_ROWS;
    if (isNear && hasNextPage && !isFetchingNextPage && !isPlaceholderData) void fetchNextPage();
  }, [lastVisible, count, hasNextPage, isFetchingNextPage, isPlaceholderData, fetchNextPage]);
}

interface RowProps {
  readonly row: AssetRow;
  readonly index: number;
  readonly start: number;
  readonly height: number;
  readonly columns: readonly AssetColumn[];
  /** Layout of the columns; `undefined` on a phone. */
  readonly grid: CSSProperties | undefined;
}

const Row = memo(function Row({ row, index, start, height, columns, grid }: RowProps): ReactNode {
  const style = { ...grid, transform: `translateY(${start}px)`, height };
  return (
    // The first row is the head.
    <div role="row" aria-rowindex={index + 2} className={classes.row} data-item style={style}>
      {columns.map(({ id, label }) => (
        <div role="cell" key={id} className={classes.cell} data-column={id} data-label={label}>
          {cellOf(id, row)}
        </div>
      ))}
    </div>
  );
});

function cellOf(id: ColumnId, row: AssetRow): ReactNode {
  switch (id) {
    case "name":
      return (
        <Link to={`/assets/${row.uuid}`} className={classes.name ?? ""}>
          <SafeText text={row.name.slice(0, MAX_NAME_LENGTH)} />
        </Link>
      );
    case "serial":
      return row.serial_number;
    case "link":
      return <LinkState connected={row.connected} lastSeen={row.last_seen} />;
    case "attention":
      return <Attention reasons={row.attention} />;
    case "status":
      return row.supersim || row.prosim ? row.status : "no SIM";
    case "type":
      return row.type === "" ? "–" : <SafeText text={row.type} />;
    case "tags":
      return <Tags tags={row.tags} />;
    case "agent":
      return row.agent_version === null ? "–" : <SafeText text={row.agent_version} />;
    case "sims":
      return simsOf(row);
    case "created":
      return formatDate(row.created_at);
  }
}

function Tags({ tags }: { readonly tags: AssetRow["tags"] }): ReactNode {
  const entries = Object.entries(tags);
  if (entries.length === 0) return <span className={classes.nothing}>–</span>;
  return entries.map(([key, value]) => (
    <span key={key} className={classes.tag}>
      {value === "" ? key : `${key}=${value}`}
    </span>
  ));
}

function Attention({ reasons }: { readonly reasons: AssetRow["attention"] }): ReactNode {
  const [first, ...others] = reasons;
  if (first === undefined) return <span className={classes.nothing}>–</span>;
  return (
    <span className={classes.reasons}>
      <Reason reason={first} />
      {others.length > 0 && <span>+{others.length}</span>}
    </span>
  );
}
