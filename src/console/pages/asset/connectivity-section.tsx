import { Button, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { AssetUptime, ConnectivitySpan } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { formatDuration, formatTime } from "../../parts/durations.ts";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { Range } from "./health-tab.tsx";
import classes from "./health.module.css";

const REASONS: Readonly<Record<NonNullable<ConnectivitySpan["reason"]>, string>> = {
  lost: "the link broke, or the device lost its power",
  closed: "the device closed it, as when its agent stops",
  refused: "the service closed it: the token was revoked, or the device broke the protocol",
  service: "the service stopped",
};

const COLUMNS: readonly Column<ConnectivitySpan>[] = [
  {
    header: "State",
    isNarrow: true,
    renderCell: ({ state }) =>
      state === "connected" ? (
        <State kind="good" icon="check">
          connected
        </State>
      ) : (
        <State kind="bad" icon="cross">
          not connected
        </State>
      ),
  },
  { header: "From", isNarrow: true, renderCell: ({ from }) => formatTime(from) },
  { header: "To", isNarrow: true, renderCell: ({ to }) => (to === null ? "now" : formatTime(to)) },
  { header: "For", isNarrow: true, renderCell: ({ duration_s: seconds }) => formatDuration(seconds) },
  {
    header: "Why",
    renderCell: ({ reason, interruptions = 0, interrupted_s: interruptedS = 0 }) => {
      if (reason !== undefined) return REASONS[reason];
      if (interruptions === 0) return "";
      return `with ${interruptions} short ${interruptions === 1 ? "interruption" : "interruptions"}, ${formatDuration(interruptedS)} in all`;
    },
  },
];

interface Props {
  readonly assetId: string;
  readonly range: Range;
}

/** Reads all spans of the range: the service bounds how many a day has. */
async function readSpans(
  assetId: string,
  { from, to }: Range,
  signal: AbortSignal,
): Promise<readonly ConnectivitySpan[]> {
  const spans: ConnectivitySpan[] = [];
  let cursor: string | undefined;
  do {
    const page = await call("GET /v1/assets/{asset_id}/connectivity", {
      path: { asset_id: assetId },
      query: { from: String(from), to: String(to), limit: "200", cursor },
      signal,
    });
    spans.push(...page.spans);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return spans;
}

/** When the device was connected, as a strip and as a table, with its uptime. */
export function ConnectivitySection({ assetId, range }: Props): ReactNode {
  const { from, to } = range;
  const connectivity = useQuery({
    queryKey: [...KEYS.asset(assetId), "connectivity", from, to],
    queryFn: async ({ signal }) => {
      const [spans, uptime] = await Promise.all([
        readSpans(assetId, range, signal),
        call("GET /v1/assets/{asset_id}/uptime", {
          path: { asset_id: assetId },
          query: { from: String(from), to: String(to) },
          signal,
        }),
      ]);
      return { spans, uptime };
    },
    placeholderData: keepPreviousData,
  });
  return (
    <section aria-labelledby="connectivity">
      <Title order={2} id="connectivity" mb="xs">
        Connectivity
      </Title>
      <Loaded query={connectivity}>
        {({ spans, uptime }) =>
          spans.length === 0 ? (
            <Empty title="The device has not been connected yet.">
              Its connections are on record from the first one on.
            </Empty>
          ) : (
            <Connectivity spans={spans} total={uptime.total} range={range} />
          )
        }
      </Loaded>
    </section>
  );
}

interface ShownProps {
  readonly spans: readonly ConnectivitySpan[];
  readonly total: AssetUptime["total"];
  readonly range: Range;
}

function Connectivity({ spans, total, range }: ShownProps): ReactNode {
  const [isTable, setTable] = useState(false);
  return (
    <>
      <Facts
        facts={[
          ["Uptime", total.uptime_percent === null ? "not known" : `${total.uptime_percent} %`],
          ["Disconnections", total.disconnections.toLocaleString("en")],
          ["Longest disconnection", total.disconnections === 0 ? "–" : formatDuration(total.longest_gap_s)],
        ]}
      />
      <Strip spans={spans} range={range} />
      <Button size="compact-sm" variant="default" mt="xs" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
        {isTable ? "Hide the table" : "Show as a table"}
      </Button>
      {isTable && (
        // The keyboard scrolls it.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div className={classes.table} role="group" aria-label="Connections" tabIndex={0}>
          <Table label="Connectivity" columns={COLUMNS} rows={spans} keyOf={({ state, from }) => `${state} ${from}`} />
        </div>
      )}
    </>
  );
}

const STRIP_WIDTH = 1000;

/** The table says the same: the strip is hidden from screen readers. */
function Strip({ spans, range: { from, to } }: Pick<ShownProps, "spans" | "range">): ReactNode {
  const x = (at: number): number => ((Math.min(Math.max(at, from), to) - from) * STRIP_WIDTH) / (to - from);
  return (
    <>
      <svg className={classes.strip} viewBox={`0 0 ${STRIP_WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
        {spans.map(({ state, from: start, duration_s: seconds }) => (
          <rect
            key={`${state} ${start}`}
            data-state={state}
            x={x(start)}
            // What is not connected is higher: states differ in more than their colours.
            y={state === "connected" ? 4 : 0}
            width={Math.max(x(start + seconds) - x(start), 1)}
            height={state === "connected" ? 6 : 10}
          />
        ))}
      </svg>
      <div className={classes.ends} aria-hidden="true">
        <span>{formatTime(from)}</span>
        <span>now</span>
      </div>
    </>
  );
}
