import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import UPlot from "uplot";
import { formatBytes } from "../../parts/format-bytes.ts";
import classes from "./asset.module.css";
import { sourcesOf, type UsageDay, type UsageSource } from "./usage-days.ts";

const HEIGHT_PX = 240;
const AXIS_WIDTH_PX = 70;

/** Below it the axis would show parts of bytes. */
const MIN_SCALE_BYTES = 1000;
const DAY_S = 86_400;

/** Colours that differ in lightness too, for those who do not tell the hues apart. */
const COLOURS = {
  light: { text: "#343a40", grid: "#dee2e6", sims: "#1864ab", agent: "#c2410c", device: "#495057" },
  dark: { text: "#c9c9c9", grid: "#424242", sims: "#74c0fc", agent: "#ffa94d", device: "#adb5bd" },
} as const;

/** A day, such as `3 Nov`; nothing between two days. */
function dayText(seconds: number): string {
  if (seconds % DAY_S !== 0) return "";
  return new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

const LEGEND: Readonly<Record<UsageSource, string>> = {
  sims: "▮ the SIMs, counted by the operator",
  agent: "● the agent, counted by itself",
  device: "╌ the device's interfaces",
};

/** Usage by day, of the sources that have counted any. The table below it says the same: the chart is hidden from screen readers. */
export function UsageChart({ days }: { readonly days: readonly UsageDay[] }): ReactNode {
  const container = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme("light");
  useEffect(() => {
    const element = container.current;
    if (!element) return undefined;
    const colours = COLOURS[scheme];
    const axis = {
      stroke: colours.text,
      grid: { stroke: colours.grid, width: 1 },
      ticks: { stroke: colours.grid, width: 1 },
    };
    const bars = UPlot.paths.bars?.({ size: [0.6, 40] });
    const series: Readonly<Record<UsageSource, UPlot.Series>> = {
      sims: {
        label: "SIMs",
        stroke: colours.sims,
        fill: `${colours.sims}55`,
        points: { show: false },
        ...(bars && { paths: bars }),
      },
      agent: { label: "Agent", stroke: colours.agent, width: 2, points: { show: true, size: 7 } },
      device: { label: "Device", stroke: colours.device, width: 2, dash: [6, 4], points: { show: true, size: 5 } },
    };
    const sources = sourcesOf(days);
    const chart = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "UTC"),
        axes: [
          { ...axis, values: (_plot, ticks) => ticks.map(dayText) },
          { ...axis, size: AXIS_WIDTH_PX, values: (_plot, ticks) => ticks.map((tick) => formatBytes(tick)) },
        ],
        scales: {
          // The bars of the first and the last day are as wide as the others.
          x: { range: (_plot, min, max) => [min - DAY_S / 2, max + DAY_S / 2] },
          y: { range: (_plot, _min, max) => [0, Math.max(MIN_SCALE_BYTES, max * 1.05)] },
        },
        legend: { show: false },
        series: [{}, ...sources.map((source) => series[source])],
      },
      [days.map(({ at }) => at), ...sources.map((source) => days.map((day) => day[source]))],
      element,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [days, scheme]);
  const colours = COLOURS[scheme];
  return (
    <div aria-hidden="true">
      <div ref={container} className={classes.chart} />
      <ul className={classes.legend}>
        {sourcesOf(days).map((source) => (
          <li key={source} style={{ color: colours[source] }}>
            {LEGEND[source]}
          </li>
        ))}
      </ul>
    </div>
  );
}
