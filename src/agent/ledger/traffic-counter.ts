import type { NetworkKind } from "../core/traffic/network-kind.ts";
import type { Day } from "../core/traffic/day.ts";
import { estimateOverhead } from "../core/traffic/overhead.ts";
import type { TrafficEntry } from "../core/traffic/entry.ts";
import type { Traffic } from "./ledger.ts";

/** Lines held in memory; what is counted beyond is counted without its deployment, then without its app. */
const MAX_LINES = 2_000;

/** Where and when traffic was counted; `day` is `undefined` while the clock was not set. */
export interface TrafficContext {
  readonly day: Day | undefined;
  readonly network: NetworkKind;
}

/** A line of which the day may not be known yet. */
export type TallyLine = Omit<TrafficEntry, "day"> & { readonly day: Day | undefined };

type Line = { -readonly [K in keyof TallyLine]: TallyLine[K] };

/** Counts in memory. */
export class TrafficCounter {
  readonly #lines = new Map<string, Line>();
  #bytes = 0;

  /** Bytes counted since the last `clear`. */
  get bytes(): number {
    return this.#bytes;
  }

  get lines(): readonly TallyLine[] {
    return [...this.#lines.values()];
  }

  count(traffic: Traffic, circumstances: TrafficContext): void {
    const { direction, bytes, messages = 0 } = traffic;
    const line = this.#line(traffic, circumstances);
    line[direction] += bytes;
    line.overhead += estimateOverhead(bytes, messages);
    this.#bytes += bytes;
  }

  /** Adds bytes of headers alone. */
  countOverhead(traffic: Omit<Traffic, "direction">, circumstances: TrafficContext): void {
    this.#line(traffic, circumstances).overhead += traffic.bytes;
  }

  clear(): void {
    this.#lines.clear();
    this.#bytes = 0;
  }

  #line({ purpose, app = "", deployment = "" }: Omit<Traffic, "direction">, { day, network }: TrafficContext): Line {
    const isFull = this.#lines.size >= MAX_LINES;
    const key = [day ?? "", network, purpose, ...(isFull ? [] : [app, deployment])].join(" ");
    const known = this.#lines.get(key);
    if (known) return known;
    const names = isFull ? { app: "", deployment: "" } : { app, deployment };
    const line: Line = { day, network, purpose, ...names, sent: 0, received: 0, overhead: 0 };
    this.#lines.set(key, line);
    return line;
  }
}
