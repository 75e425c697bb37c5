import type { Theme } from "../../lib/terminal/theme.ts";

/** Renders a progress bar of `width` columns. @param fraction filled share, from 0 to 1 */
export function renderBar(fraction: number, width: number, theme: Theme): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * width);
  return theme.cyan(theme.barFull.repeat(full)) + theme.dim(theme.barEmpty.repeat(width - full));
}

/** Renders a chart's bar without colour or background; at least one column for a fraction above zero. */
export function renderChartBar(fraction: number, width: number, theme: Pick<Theme, "barFull">): string {
  const full = fraction > 0 ? Math.max(1, Math.round(Math.min(1, fraction) * width)) : 0;
  return theme.barFull.repeat(full);
}
