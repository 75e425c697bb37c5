import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "../temp-dir.ts";
import { openPage } from "../browser/browser.ts";
import { takeScreenshot } from "../browser/screenshot.ts";
import { type Dashboard, fillIn, type Panel } from "./dashboard.ts";
import type { Prometheus, Series } from "./prometheus.ts";

const COLORS = ["#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#b877d9", "#e02f44", "#37872d", "#8ab8ff"];
const CELL = { width: 62, height: 34 };

interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/**
 * Draws the dashboard's panels with figures from a Prometheus, as a page in Chromium, and stores its image. This is not
 * Grafana: it shows the figures and the layout, not how Grafana presents them.
 */
export async function renderDashboard(
  dashboard: Dashboard,
  prometheus: Prometheus,
  { from, to, rateInterval }: { readonly from: number; readonly to: number; readonly rateInterval: string },
): Promise<string> {
  const cells = await Promise.all(
    dashboard.panels.map(async (panel) => {
      const lines = await Promise.all(
        (panel.targets ?? []).map(async ({ expr, legendFormat }) => {
          const series = await prometheus.range(fillIn(expr, rateInterval), from, to);
          return series.map((one) => toLine(one, legendFormat));
        }),
      );
      return cell(panel, lines.flat(), from, to);
    }),
  );
  await using directory = await tempDir();
  const file = join(directory.path, "dashboard.html");
  await writeFile(file, html(dashboard, cells));
  await using opened = await openPage(`file://${file}`, "dashboard");
  const image = ".cache/screenshots/dashboard-whole.png";
  await takeScreenshot(opened.page, { path: image, fullPage: true });
  return image;
}

function toLine({ metric, values }: Series, legend: string): Line {
  const name = legend.replaceAll(/\{\{(\w+)\}\}/g, (_match, label: string) => metric[label] ?? "");
  return {
    name,
    points: values.map(([at, value]) => [at, Number(value)] as const).filter(([, y]) => !Number.isNaN(y)),
  };
}

function cell({ type, title, gridPos, fieldConfig }: Panel, lines: readonly Line[], from: number, to: number): string {
  const { x, y, w, h } = gridPos;
  const place = `left:${x * CELL.width}px;top:${y * CELL.height}px;width:${w * CELL.width - 8}px;height:${h * CELL.height - 8}px`;
  if (type === "row") return `<h2 style="${place}">${escape(title)}</h2>`;
  const unit = fieldConfig?.defaults.unit ?? "";
  const content = type === "stat" ? big(lines, unit) : chart(lines, unit, { from, to, gridPos });
  return `<section style="${place}"><h3>${escape(title)}</h3>${content}</section>`;
}

function big(lines: readonly Line[], unit: string): string {
  const last = lines[0]?.points.at(-1)?.[1];
  return `<p class="big">${last === undefined ? "no value" : `${round(last)} ${escape(unit)}`}</p>`;
}

function chart(
  lines: readonly Line[],
  unit: string,
  { from, to, gridPos }: { readonly from: number; readonly to: number; readonly gridPos: Panel["gridPos"] },
): string {
  const width = gridPos.w * CELL.width - 24;
  const height = gridPos.h * CELL.height - 84;
  const top = Math.max(...lines.flatMap(({ points }) => points.map(([, y]) => y)), 1e-9);
  const paths = lines.map(({ points }, index) => {
    const at = points.map(([x, y]) => `${((x - from) / (to - from)) * width},${height - (y / top) * (height - 12)}`);
    return `<polyline fill="none" stroke="${COLORS[index % COLORS.length]}" points="${at.join(" ")}"/>`;
  });
  const names = lines.map(
    ({ name, points }, index) =>
      `<span style="color:${COLORS[index % COLORS.length]}">${escape(name)} ${round(points.at(-1)?.[1] ?? 0)}</span>`,
  );
  const legend = lines.length === 0 ? "<i>no series</i>" : names.join(" ");
  return `<svg width="${width}" height="${height}"><text x="0" y="10">${round(top)} ${escape(unit)}</text>${paths.join("")}</svg><div>${legend}</div>`;
}

function round(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3, notation: "compact" });
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

const html = ({ title }: Dashboard, cells: readonly string[]): string => `<!doctype html><title>${escape(title)}</title>
<style>body{background:#111217;color:#ccccdc;font:11px sans-serif;width:${24 * CELL.width}px;height:1500px;position:relative}
section,h2{position:absolute;overflow:hidden;margin:0}section{background:#181b1f;border:1px solid #333}h2{font-size:14px}
h3{margin:4px 8px;font-size:12px}svg{margin:0 8px}div{margin:0 8px}.big{font-size:26px;margin:14px 8px}text{fill:#888}</style>
${cells.join("\n")}`;
