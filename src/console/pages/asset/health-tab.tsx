import { Button, Stack, Text, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { AssetHealth } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { serverNow } from "../../api/reachability.ts";
import { formatTime } from "../../parts/durations.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { TabProps } from "./asset-queries.ts";
import { ConnectivitySection } from "./connectivity-section.tsx";
import { CHART, chartOf, formatValue, METRIC_NAMES, METRICS } from "./health-chart.ts";
import classes from "./health.module.css";

const DAY_S = 86_400;
const RANGES = [
  { id: "hour", label: "Hour", seconds: 3600 },
  { id: "day", label: "Day", seconds: DAY_S },
  { id: "week", label: "Week", seconds: 7 * DAY_S },
  { id: "month", label: "Month", seconds: 30 * DAY_S },
] as const;
/** Ranges end with a whole minute, so that the same one is not read again and again. */
const MINUTE_S = 60;
const POINTS = "200";

/** A range of time, in Unix seconds. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

function rangeOf(seconds: number): Range {
  const to = Math.ceil(serverNow() / 1000 / MINUTE_S) * MINUTE_S;
  return { from: to - seconds, to };
}

/** How the device was, and when it was connected, over a day, a week or a month. */
export function HealthTab({ asset }: TabProps): ReactNode {
  const [{ id, range }, setChosen] = useState(() => ({ id: "day", range: rangeOf(DAY_S) }));
  return (
    <>
      <div className={classes.head} role="group" aria-label="Range of time">
        {RANGES.map(({ id: each, label, seconds }) => (
          <Button
            key={each}
            size="xs"
            variant={each === id ? "filled" : "default"}
            aria-pressed={each === id}
            onClick={() => setChosen({ id: each, range: rangeOf(seconds) })}
          >
            {label}
          </Button>
        ))}
      </div>
      <Stack gap="xl">
        <ConnectivitySection assetId={asset.uuid} range={range} />
        <HealthSection assetId={asset.uuid} range={range} />
      </Stack>
    </>
  );
}

interface SectionProps {
  readonly assetId: string;
  readonly range: Range;
}

/** What the service has on record. The device is asked only if a person wants it: that costs data of its plan. */
function HealthSection({ assetId, range }: SectionProps): ReactNode {
  const { from, to } = range;
  const [asked, setAsked] = useState<Range>();
  const source = asked === range ? "device" : "service";
  const health = useQuery({
    // Not below the key of the asset: what happens to it does not change what the device has sent.
    queryKey: ["health", assetId, from, to, source],
    queryFn: ({ signal }) =>
      call("GET /v1/assets/{asset_id}/health", {
        path: { asset_id: assetId },
        query: { from: String(from), to: String(to), points: POINTS, source },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  return (
    <section aria-labelledby="health">
      <Title order={2} id="health" mb="xs">
        Health
      </Title>
      <Loaded query={health}>
        {(data) =>
          data.at.length === 0 ? (
            <Empty
              title={
                data.source === "device"
                  ? "The device knows nothing of this time."
                  : "The device has sent nothing in this time."
              }
            >
              Devices send how they were about once an hour; some are set not to. They keep 48 hours, each row of five
              minutes.
            </Empty>
          ) : (
            <Charts health={data} range={range} />
          )
        }
      </Loaded>
      {source === "service" && (
        <Button size="compact-sm" variant="default" mt="xs" onClick={() => setAsked(range)}>
          Ask the device for its newest figures
        </Button>
      )}
    </section>
  );
}

function Charts({ health, range }: { readonly health: AssetHealth; readonly range: Range }): ReactNode {
  const [isTable, setTable] = useState(false);
  const series = METRIC_NAMES.flatMap((metric) => health.series.filter((each) => each.metric === metric));
  return (
    <>
      <ul className={classes.charts}>
        {series.map((each) => (
          <li key={each.metric}>
            <Plot health={health} series={each} range={range} />
          </li>
        ))}
      </ul>
      <Text size="xs" c="dimmed" mt="xs">
        Lines are means, areas from the lowest to the highest value, of {formatInterval(health.interval_s)} each. Where
        a line is interrupted nothing was measured.{" "}
        {health.source === "service" && "Devices send once an hour, so the end may be missing."}
      </Text>
      <Button size="compact-sm" variant="default" mt="xs" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
        {isTable ? "Hide the table" : "Show as a table"}
      </Button>
      {isTable && <Values health={health} />}
    </>
  );
}

/** `15 minutes`, `3.75 hours`. */
function formatInterval(seconds: number): string {
  return seconds < 7200 ? `${seconds / 60} minutes` : `${(seconds / 3600).toLocaleString("en")} hours`;
}

interface PlotProps {
  readonly health: AssetHealth;
  readonly series: AssetHealth["series"][number];
  readonly range: Range;
}

/** A chart of one metric, which the table says in numbers: screen readers have its summary. */
function Plot({ health, series, range }: PlotProps): ReactNode {
  const { metric } = series;
  const { lines, areas, low, high, latest, lowest, highest } = chartOf(health, series, range.from, range.to);
  const value = (number: number | undefined): string => (number === undefined ? "–" : formatValue(metric, number));
  return (
    <>
      <div className={classes.name}>
        <strong>{METRICS[metric].label}</strong>
        <span>
          {value(latest)}
          <Text span size="xs" c="dimmed">
            {" "}
            · {value(lowest)} to {value(highest)}
          </Text>
        </span>
      </div>
      <svg
        className={classes.plot}
        viewBox={`0 0 ${CHART.width} ${CHART.height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {[0.25, 0.5, 0.75].map((part) => (
          <line
            key={part}
            className={classes.grid}
            x1={part * CHART.width}
            x2={part * CHART.width}
            y1="0"
            y2={CHART.height}
          />
        ))}
        <line className={classes.grid} x1="0" x2={CHART.width} y1={CHART.height / 2} y2={CHART.height / 2} />
        <path className={classes.area} d={areas} />
        <path className={classes.line} d={lines} />
      </svg>
      <div className={classes.ends} aria-hidden="true">
        <span>{formatTime(range.from)}</span>
        <span>
          {low} to {formatValue(metric, high)}
        </span>
      </div>
    </>
  );
}

interface ValueRow {
  readonly at: number;
  readonly index: number;
}

function Values({ health }: { readonly health: AssetHealth }): ReactNode {
  const rows = health.at.map((at, index): ValueRow => ({ at, index })).toReversed();
  const columns: readonly Column<ValueRow>[] = [
    { header: "From", isNarrow: true, renderCell: ({ at }) => formatTime(at) },
    ...METRIC_NAMES.flatMap((metric) => health.series.filter((series) => series.metric === metric)).map(
      ({ metric, mean, min, max }): Column<ValueRow> => ({
        header: METRICS[metric].label,
        renderCell: ({ index }) => {
          const { [index]: middle } = mean;
          if (typeof middle !== "number") return "–";
          return `${formatValue(metric, middle)} (${Math.round(min[index] ?? middle)} to ${Math.round(max[index] ?? middle)})`;
        },
      }),
    ),
  ];
  return (
    // The keyboard scrolls it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={classes.table} role="group" aria-label="Health in numbers" tabIndex={0}>
      <Table label="Health" columns={columns} rows={rows} keyOf={({ at }) => String(at)} />
    </div>
  );
}
