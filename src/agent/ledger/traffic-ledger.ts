import type { Clock } from "../../lib/clock.ts";
import type { TrafficPurpose } from "../../protocol/link/data-usage.ts";
import type { Logger } from "../../lib/logger.ts";
import { carriedSince, type CounterMark } from "../core/traffic/interface-traffic.ts";
import { type Day, dayOf } from "../core/traffic/day.ts";
import { CONNECTION_OVERHEAD_BYTES } from "../core/traffic/overhead.ts";
import type { Network } from "../host/network.ts";
import type { Ledger, Traffic, TrafficFollower, TrafficSource } from "./ledger.ts";
import type { Bytes, InterfaceEntry, TrafficEntry } from "../core/traffic/entry.ts";
import type { LedgerChange, LedgerStore } from "../core/traffic/ledger-store.ts";
import type { NetworkWatch } from "./network-watch.ts";
import { type TrafficContext, TrafficCounter, type CounterLine } from "./traffic-counter.ts";

/** Interval of reading the counters, in milliseconds. */
const SAMPLE_INTERVAL_MS = 5 * 60_000;

/** Less traffic is written only once an hour, to spare the flash. In bytes of agent and interfaces. */
const MIN_WRITE_BYTES = 1_048_576;

/**
 * This much is written after a moment, so that a power cut during a download does not hide its cost. In bytes. On a fast link
 * the moment saves a write for every two mebibytes, each of which delays the download.
 */
const SOON_WRITTEN_BYTES = 2 * MIN_WRITE_BYTES;
const SOON_MS = 1_000;

/** Maximum age of unwritten traffic, in milliseconds. */
const MAX_UNWRITTEN_MS = 60 * 60_000;

export interface TrafficLedgerOptions {
  readonly store: LedgerStore;
  readonly network: Network;
  readonly watch: NetworkWatch;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identity of this boot of the machine. */
  readonly bootId: string;
}

/**
 * The traffic ledger. Counts in memory, and writes a second after two mebibytes, otherwise at most every five minutes. A power
 * cut loses at most that, or an hour of less than a mebibyte.
 */
export class TrafficLedger implements Ledger, TrafficFollower, Disposable {
  readonly #options: TrafficLedgerOptions;
  readonly #counter = new TrafficCounter();
  readonly #sources = new Set<() => void>();
  #interfaces: (Bytes & { readonly name: string; readonly day: Day | undefined })[] = [];
  #marks: readonly CounterMark[];
  #writtenAt: number;
  #timer: Disposable | undefined;
  #soon: Disposable | undefined;
  #hasWriteFailed = false;

  constructor(options: TrafficLedgerOptions) {
    this.#options = options;
    this.#marks = options.store.marks();
    this.#writtenAt = options.clock.monotonic();
    this.#sample();
    this.#arm();
  }

  count({ carriedAs, ...traffic }: Traffic): void {
    if (traffic.bytes > 0 && carriedAs !== undefined) this.#takeFrom(carriedAs, traffic);
    if (traffic.bytes > 0) this.#counter.count(traffic, this.#trafficContext());
    if (this.#counter.bytes < SOON_WRITTEN_BYTES || this.#hasWriteFailed) return;
    this.#soon ??= this.#options.clock.timer(SOON_MS, () => this.#write());
  }

  /**
   * Moves bytes of the link to another purpose: all traffic of the link is first counted as control.
   *
   * @param traffic bytes, without the overhead of TLS
   */
  attribute(traffic: Omit<Traffic, "direction">, direction: Traffic["direction"] = "sent"): void {
    this.count({ ...traffic, direction, carriedAs: "control" });
  }

  /** Takes bytes from those of a purpose that belong to no app and no deployment. */
  #takeFrom(purpose: TrafficPurpose, { direction, bytes }: Pick<Traffic, "direction" | "bytes">): void {
    // Counts the connections' bytes first, so that the purpose does not become negative.
    for (const collect of this.#sources) collect();
    this.#counter.count({ purpose, direction, bytes: -bytes }, this.#trafficContext());
  }

  /** Counts the traffic of a connection, including its setup, until disposed. */
  follow(source: TrafficSource, purpose: TrafficPurpose = "control"): Disposable {
    let last = { sent: 0, received: 0, messages: 0 };
    const collect = (): void => {
      const now = source();
      const messages = (now.messages - last.messages) / 2;
      this.count({ purpose, direction: "sent", bytes: now.sent - last.sent, messages });
      this.count({ purpose, direction: "received", bytes: now.received - last.received, messages });
      last = now;
    };
    this.#counter.countOverhead({ purpose, bytes: CONNECTION_OVERHEAD_BYTES }, this.#trafficContext());
    this.#sources.add(collect);
    return {
      [Symbol.dispose]: () => {
        if (this.#sources.delete(collect)) collect();
      },
    };
  }

  /** Traffic of the days `from` to `to`, both included, with what is not written yet. Throws `StoreError`. */
  read(
    from: Day,
    to: Day,
  ): { readonly traffic: readonly TrafficEntry[]; readonly interfaces: readonly InterfaceEntry[] } {
    this.#collect();
    const { traffic, interfaces } = this.#unwritten();
    const within = ({ day }: { readonly day: Day }): boolean => day >= from && day <= to;
    const { store } = this.#options;
    return {
      traffic: [...store.traffic(from, to), ...traffic.filter(within)],
      interfaces: [...store.interfaces(from, to), ...interfaces.filter(within)],
    };
  }

  /** Today by a set clock, otherwise the last day with traffic; `undefined` without one. */
  today(): Day | undefined {
    return dayOf(this.#options.clock.now()) ?? this.#options.store.lastDay();
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#collect();
    this.#write();
  }

  #arm(): void {
    this.#timer = this.#options.clock.timer(SAMPLE_INTERVAL_MS, () => {
      this.#collect();
      const waitedMs = this.#options.clock.monotonic() - this.#writtenAt;
      const bytes = this.#interfaces.reduce((sum, { sent, received }) => sum + sent + received, this.#counter.bytes);
      if (bytes >= MIN_WRITE_BYTES || waitedMs >= MAX_UNWRITTEN_MS) this.#write();
      this.#arm();
    });
  }

  #collect(): void {
    for (const collect of this.#sources) collect();
    this.#sample();
  }

  #sample(): void {
    const { network, bootId, clock } = this.#options;
    const counters = network.counters();
    const day = dayOf(clock.now());
    for (const { name, sent, received } of carriedSince(this.#marks, counters, bootId)) {
      const same = this.#interfaces.find((entry) => entry.name === name && entry.day === day);
      this.#interfaces = this.#interfaces.filter((entry) => entry !== same);
      this.#interfaces.push({ name, day, sent: (same?.sent ?? 0) + sent, received: (same?.received ?? 0) + received });
    }
    // Keeps the marks of absent interfaces, such as a modem during its reset: their counters may continue.
    const gone = this.#marks.filter(({ name }) => !counters.some((counter) => counter.name === name));
    this.#marks = [...gone, ...counters.map(({ name, sent, received }) => ({ name, bootId, sent, received }))];
  }

  #write(): void {
    this.#soon?.[Symbol.dispose]();
    this.#soon = undefined;
    const change = this.#unwritten();
    if (change.traffic.length + change.interfaces.length === 0) return;
    try {
      this.#options.store.add(change);
    } catch (error) {
      if (!this.#hasWriteFailed)
        this.#options.logger.warn(
          { err: error },
          "failed to write the ledger of data usage; it is kept in memory and written later. See: edge-agent doctor (disk, store)",
        );
      this.#hasWriteFailed = true;
      return;
    }
    this.#hasWriteFailed = false;
    this.#writtenAt = this.#options.clock.monotonic();
    this.#counter.clear();
    this.#interfaces = [];
  }

  /**
   * Returns what is not written yet. Traffic counted before the clock was set is assigned to the first known day after;
   * until then to the last day with traffic.
   */
  #unwritten(): LedgerChange {
    const lines: readonly CounterLine[] = this.#counter.lines;
    const today = this.today() ?? lastOf(lines);
    const dated = <T extends { readonly day: Day | undefined }>(lines: readonly T[]): (T & { readonly day: Day })[] =>
      lines.flatMap((line) => {
        const day = line.day ?? today;
        return day === undefined ? [] : [{ ...line, day }];
      });
    return { traffic: dated(lines), interfaces: dated(this.#interfaces), marks: this.#marks };
  }

  #trafficContext(): TrafficContext {
    const { clock, watch } = this.#options;
    return { day: dayOf(clock.now()), network: watch.current().kind };
  }
}

function lastOf(lines: readonly { readonly day: Day | undefined }[]): Day | undefined {
  return lines
    .flatMap(({ day }) => day ?? [])
    .toSorted()
    .at(-1);
}
