import type { NetworkKind } from "../core/traffic/network-kind.ts";
import type { Day } from "../core/traffic/day.ts";
import { estimateOverhead } from "../core/traffic/overhead.ts";
import type { TrafficEntry } from "../core/traffic/entry.ts";
import type { Traffic } from "./ledger.ts";

/** Maximum lines in memory; further traffic is counted without app and deployment. */
const MAX_LINES = 2_000;

/** Day and network of traffic; `day` is `undefined` while the clock is not set. */
export interface TrafficContext {
  readonly day: Day | undefined;
  readonly network: NetworkKind;
}

/** A line whose day may not be known yet. */
export type CounterLine = Omit<TrafficEntry, "day"> & { readonly day: Day | undefined };

type Line = { -readonly [K in keyof CounterLine]: CounterLine[K] };

/** Counts traffic in memory. */
export class TrafficCounter {
  readonly #lines = new Map<string, Line>();
  #bytes = 0;

  /** Bytes counted since the last `clear`. */
  get bytes(): number {
    return this.#bytes;
  }

  get lines(): readonly CounterLine[] {
    return [...this.#lines.values()];
  }

  count(traffic: Traffic, context: TrafficContext): void {
    const { direction, bytes, messages = 0 } = traffic;
    const line = this.#line(traffic, context);
    line[direction] += bytes;
    line.overhead += estimateOverhead(bytes, messages);
    this.#bytes += bytes;
  }

  /** Counts bytes of headers only. */
  countOverhead(traffic: Omit<Traffic, "direction">, context: TrafficContext): void {
    this.#line(traffic, context).overhead += traffic.bytes;
  }

  clear(): void {
    this.#lines.clear();
    this.#bytes = 0;
  }

  #line({ purpose, app = "", deployment = "" }: Omit<Traffic, "direction">, { day, network }: TrafficContext): Line {
    const isFull = this.#lines.size >= MAX_LINES;
    const key = [day ?? "", network, purpose, ...(isFull ? [] : [app, deployment])].join(" ");
    const existing = this.#lines.get(key);
    if (existing) return existing;
    const names = isFull ? { app: "", deployment: "" } : { app, deployment };
    const line: Line = { day, network, purpose, ...names, sent: 0, received: 0, overhead: 0 };
    this.#lines.set(key, line);
    return line;
  }
}
