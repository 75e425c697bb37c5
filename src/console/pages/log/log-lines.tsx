import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type ReactNode, useEffect, useRef } from "react";
import { formatBytes } from "../../parts/format-bytes.ts";
import { SafeText } from "../../parts/safe-text.tsx";
import { type LogWindow, type LogRow, plainLine } from "./log-ring.ts";
import classes from "./log.module.css";

const LINE_HEIGHT_PX = 20;
const OVERSCAN_LINES = 20;
const MAX_LINE_LENGTH = 1000;
/** Nearer to the end than this counts as being at the end, in pixels. */
const END_PX = 40;

interface Props {
  readonly ring: LogWindow;
  /** Changes with the ring. */
  readonly version: number;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
  readonly hasTimes: boolean;
}

/** The lines that are in view. */
export function LogLines({ ring, version, isFollowing, onFollow, hasTimes }: Props): ReactNode {
  const container = useRef<HTMLDivElement>(null);
  // The library's functions change with each scroll, so nothing here is memoized.
  // oxlint-disable-next-line react/incompatible-library
  const virtualizer = useVirtualizer({
    count: ring.length,
    getScrollElement: () => container.current,
    estimateSize: () => LINE_HEIGHT_PX,
    getItemKey: (index) => ring.at(index)?.id ?? index,
    overscan: OVERSCAN_LINES,
  });
  useEffect(() => {
    if (isFollowing && ring.length > 0) virtualizer.scrollToIndex(ring.length - 1, { align: "end" });
  }, [version, isFollowing, ring, virtualizer]);
  const isAtEnd = (): boolean => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = container.current ?? {};
    return scrollHeight - scrollTop - clientHeight < END_PX;
  };
  return (
    // It listens only to learn whether the person has scrolled.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      ref={container}
      className={classes.log}
      role="log"
      aria-live="off"
      aria-label="Lines"
      // What scrolls must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      // Only what the person does turns following off: the list also scrolls by itself.
      onWheel={(event) => event.deltaY < 0 && onFollow(false)}
      onTouchMove={() => onFollow(isAtEnd())}
      onKeyUp={(event) => SCROLL_KEYS.has(event.key) && onFollow(isAtEnd())}
    >
      <div className={classes.lines} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => {
          const row = ring.at(index);
          if (!row) return null;
          return (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              className={classes.place}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Line row={row} hasTime={hasTimes} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

const SCROLL_KEYS: ReadonlySet<string> = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"]);

const Line = memo(function Line({ row, hasTime }: { readonly row: LogRow; readonly hasTime: boolean }): ReactNode {
  if (row.kind === "omitted")
    return (
      <div className={classes.note}>
        {row.lines.toLocaleString("en")} {row.lines === 1 ? "line" : "lines"} left out ({formatBytes(row.bytes)})
      </div>
    );
  if (row.kind === "note")
    return (
      <div className={classes.note} data-kind={row.isError ? "bad" : undefined}>
        <SafeText text={row.text} />
      </div>
    );
  return (
    <div className={classes.line} data-stream={row.stream}>
      {hasTime && <span className={classes.time}>{row.time.slice(11, 23)}</span>}
      {row.stream === "stderr" && (
        <span className={classes.stream} title="Written to stderr">
          err
        </span>
      )}
      <SafeText text={plainLine(row.text)} max={MAX_LINE_LENGTH} isMultiline />
      {row.isTruncated && <span className={classes.note}> … cut by the device</span>}
    </div>
  );
});
