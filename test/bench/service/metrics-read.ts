import { processorMs } from "../process-usage.ts";
import type { Row } from "../result.ts";
import { type Service, startService } from "./service.ts";
import type { SimulatedFleet } from "./simulated-fleet.ts";

const READS = 200;

/** What it costs a service to be asked for its metrics. */
export interface MetricsRead {
  /** Of one answer. */
  readonly processorMs: number;
  /** Of one answer. */
  readonly bytes: number;
}

/** Starts the service on the folder's data with metrics, connects the fleet, and reads them. */
export async function readMetrics(folder: string, simulated: SimulatedFleet): Promise<MetricsRead> {
  await using service = await startService(folder, { "metrics-listen": "127.0.0.1:0" });
  await simulated.connect(`ws://${service.host}:${service.port}/v1/agent`);
  // Compiled, as in a service that has been scraped for a while.
  await readAll(service);
  const before = processorMs(service.pid);
  const bytes = await readAll(service);
  const used = processorMs(service.pid) - before;
  await simulated.disconnect();
  return { processorMs: used / READS, bytes };
}

/** Returns the size of the last answer. */
async function readAll({ host, metricsPort }: Service): Promise<number> {
  let bytes = 0;
  for (let count = 0; count < READS; count++) {
    const response = await fetch(`http://${host}:${metricsPort}/metrics`);
    if (!response.ok) throw new Error(`/metrics answers ${response.status}`);
    bytes = (await response.text()).length;
  }
  return bytes;
}

export function metricsRow(devices: number, { processorMs: usedMs, bytes }: MetricsRead): Row {
  return {
    what: `edge-control: GET /metrics with ${devices} devices, processor time`,
    value: `${usedMs.toFixed(2)} ms`,
    reference: `${(bytes / 1024).toFixed(0)} KiB of text`,
  };
}
