import type { Theme } from "../../lib/terminal/theme.ts";

/** A bar of `width` columns, filled for `fraction` (0 to 1) of it. */
export function renderBar(fraction: number, width: number, theme: Theme): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * width);
  return theme.cyan(theme.barFull.repeat(full)) + theme.dim(theme.barEmpty.repeat(width - full));
}

/** A bar of a chart, not coloured: nothing behind it, and at least one column for anything above zero. */
export function renderChartBar(fraction: number, width: number, theme: Pick<Theme, "barFull">): string {
  const full = fraction > 0 ? Math.max(1, Math.round(Math.min(1, fraction) * width)) : 0;
  return theme.barFull.repeat(full);
}
