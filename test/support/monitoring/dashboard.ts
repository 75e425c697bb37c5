import { readFile } from "node:fs/promises";

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
  readonly datasource: unknown;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly w: number; readonly h: number; readonly x: number; readonly y: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly Target[];
}

export interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export async function readDashboard(): Promise<Dashboard> {
  return JSON.parse(await readFile("packaging/monitoring/edge-control.dashboard.json", "utf8")) as Dashboard;
}

export function dashboardQueries({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Replaces Grafana's variables: all instances, and this interval for rates. */
export function fillIn(expr: string, rateInterval: string): string {
  return expr.replaceAll("$instance", ".*").replaceAll("$__rate_interval", rateInterval);
}
