import type { StatementSync } from "node:sqlite";
import { z } from "zod";
import { trafficPurposeSchema } from "../../protocol/link/data-usage.ts";
import { type CounterMark } from "../core/traffic/interface-traffic.ts";
import { NETWORK_KINDS } from "../core/traffic/network-kind.ts";
import { type Day, daysBefore } from "../core/traffic/day.ts";
import type { InterfaceEntry, TrafficEntry } from "../core/traffic/entry.ts";
import type { LedgerChange, LedgerStore } from "../core/traffic/ledger-store.ts";

/** Thirteen months, to include the same month of last year. */
const KEPT_DAYS = 400;

/** Days for which traffic is kept by deployment; afterwards by app only. */
const KEPT_DEPLOYMENT_DAYS = 90;

const trafficSchema = z.object({
  day: z.string(),
  network: z.enum(NETWORK_KINDS).catch("other"),
  /** Rows of a version with other purposes stay in every total. */
  purpose: trafficPurposeSchema.catch("other"),
  app: z.string(),
  deployment: z.string(),
  sent: z.number(),
  received: z.number(),
  overhead: z.number(),
});
const interfaceSchema = z.object({ day: z.string(), name: z.string(), sent: z.number(), received: z.number() });
const markSchema = z.object({ name: z.string(), bootId: z.string(), sent: z.number(), received: z.number() });

export interface LedgerTableOptions {
  readonly sql: (text: string) => StatementSync;
  /** Runs the work in one transaction. */
  readonly write: (work: () => void) => void;
  readonly read: <T>(work: () => T) => T;
}

/** The tables of the traffic ledger. */
export class LedgerTable implements LedgerStore {
  readonly #options: LedgerTableOptions;

  constructor(options: LedgerTableOptions) {
    this.#options = options;
  }

  add({ traffic, interfaces, marks }: LedgerChange): void {
    this.#options.write(() => {
      for (const entry of traffic) this.#addTraffic(entry);
      for (const { day, name, sent, received } of interfaces) {
        this.#sql(
          `INSERT INTO interface_traffic (day, name, sent, received) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET sent = sent + excluded.sent, received = received + excluded.received`,
        ).run(day, name, sent, received);
      }
      this.#sql("DELETE FROM interface_marks").run();
      for (const { name, bootId, sent, received } of marks) {
        this.#sql("INSERT INTO interface_marks (name, boot_id, sent, received) VALUES (?, ?, ?, ?)").run(
          name,
          bootId,
          sent,
          received,
        );
      }
      this.#removeOldDays();
    });
  }

  marks(): readonly CounterMark[] {
    return this.#rows(markSchema, "SELECT name, boot_id AS bootId, sent, received FROM interface_marks");
  }

  lastDay(): Day | undefined {
    const day = this.#options.read(() => this.#sql("SELECT max(day) AS day FROM traffic").get()?.["day"]);
    return typeof day === "string" ? day : undefined;
  }

  traffic(from: Day, to: Day): readonly TrafficEntry[] {
    return this.#rows(trafficSchema, "SELECT * FROM traffic WHERE day BETWEEN ? AND ? ORDER BY day", from, to);
  }

  interfaces(from: Day, to: Day): readonly InterfaceEntry[] {
    return this.#rows(
      interfaceSchema,
      "SELECT * FROM interface_traffic WHERE day BETWEEN ? AND ? ORDER BY day",
      from,
      to,
    );
  }

  #addTraffic({ day, network, purpose, app, deployment, sent, received, overhead }: TrafficEntry): void {
    this.#sql(
      `INSERT INTO traffic (day, network, purpose, app, deployment, sent, received, overhead)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET sent = sent + excluded.sent, received = received + excluded.received,
         overhead = overhead + excluded.overhead`,
    ).run(day, network, purpose, app, deployment, sent, received, Math.round(overhead));
  }

  /**
   * Removes old days by the number of stored days, not by the current date: a clock that is years ahead for an hour
   * must not erase the history.
   */
  #removeOldDays(): void {
    const days = this.#sql("SELECT DISTINCT day FROM traffic ORDER BY day DESC").all();
    const [last, oldest] = [days[0]?.["day"], days[KEPT_DAYS - 1]?.["day"]];
    if (typeof oldest === "string") {
      this.#sql("DELETE FROM traffic WHERE day < ?").run(oldest);
      this.#sql("DELETE FROM interface_traffic WHERE day < ?").run(oldest);
    }
    const second = days[1]?.["day"];
    if (typeof last !== "string" || typeof second !== "string") return;
    // Counted from the second last day, for the same reason.
    const before = daysBefore(second, KEPT_DEPLOYMENT_DAYS);
    const old = this.#rows(trafficSchema, "SELECT * FROM traffic WHERE day < ? AND deployment <> ''", before);
    if (old.length === 0) return;
    this.#sql("DELETE FROM traffic WHERE day < ? AND deployment <> ''").run(before);
    for (const entry of old) this.#addTraffic({ ...entry, deployment: "" });
  }

  #rows<T>(schema: z.ZodType<T>, text: string, ...parameters: string[]): T[] {
    return this.#options.read(() =>
      this.#sql(text)
        .all(...parameters)
        .flatMap((row) => schema.safeParse(row).data ?? []),
    );
  }

  #sql(text: string): StatementSync {
    return this.#options.sql(text);
  }
}
