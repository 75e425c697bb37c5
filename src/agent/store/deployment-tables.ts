import type { StatementSync } from "node:sqlite";
import { type EventContent, isFinal } from "../../protocol/deployments/deployment-event.ts";
import type { Clock } from "../../lib/clock.ts";
import type { DeploymentRecord } from "../core/records.ts";
import type { OutboxEvent } from "./outbox.ts";

/** Prefix of the boot id, long enough to distinguish boots; stored with every event. */
const BOOT_ID_LENGTH = 8;

// Events of deployments requested on the device are not sent to the control plane.
const PENDING_EVENTS = /* sql */ `
  SELECT o.*, d.id AS deployment_id FROM outbox o JOIN deployments d ON d.number = o.deployment
  WHERE o.position > ? AND d.record ->> 'origin' <> 'local' ORDER BY o.position`;

type Row = Readonly<Record<string, unknown>>;

export interface DeploymentTablesOptions {
  /** Returns the prepared statement of a text. */
  readonly sql: (text: string) => StatementSync;
  readonly clock: Clock;
  readonly bootId: string;
}

/** The tables of deployments and of their events. Changes must be made in a transaction. */
export class DeploymentTables {
  readonly #sql: DeploymentTablesOptions["sql"];
  readonly #clock: Clock;
  readonly #bootId: string;
  /** Increases for the lifetime of the process, which readers' cursors do not outlive. */
  #nextPosition: number;

  constructor({ sql, clock, bootId }: DeploymentTablesOptions) {
    this.#sql = sql;
    this.#clock = clock;
    this.#bootId = bootId.slice(0, BOOT_ID_LENGTH);
    this.#nextPosition = Number(sql("SELECT max(position) AS last FROM outbox").get()?.["last"] ?? 0) + 1;
  }

  /** Rows with `id` and `record`. */
  all(): readonly Row[] {
    return this.#sql("SELECT id, record FROM deployments").all();
  }

  find(id: string): Row | undefined {
    return this.#sql("SELECT number, id, record FROM deployments WHERE id = ?").get(id);
  }

  /** Adds or replaces the record and appends the events. */
  save(record: DeploymentRecord, events: readonly EventContent[]): void {
    const number = this.#saveRecord(record.id, JSON.stringify(record));
    for (const event of events) this.#append(number, event);
  }

  /** Appends events to a deployment that has a record. */
  append(id: string, events: readonly EventContent[]): void {
    const number = Number(this.find(id)?.["number"]);
    for (const event of events) this.#append(number, event);
  }

  /** Ids of the deployments of a group's apps. */
  childrenOf(id: string): string[] {
    const rows = this.#sql("SELECT id FROM deployments WHERE record ->> '$.group.id' = ?").all(id);
    return rows.map((row) => String(row["id"]));
  }

  forget(id: string): void {
    const row = this.find(id);
    if (!row) return;
    this.#sql("DELETE FROM outbox WHERE deployment = ?").run(Number(row["number"]));
    this.#sql("DELETE FROM deployments WHERE number = ?").run(Number(row["number"]));
  }

  /** `device_seq` of the deployment's last final event; `undefined` when there is none. */
  finalSeq(id: string): number | undefined {
    const seq = this.#sql(
      `SELECT max(device_seq) AS seq FROM outbox
       WHERE is_final = 1 AND deployment = (SELECT number FROM deployments WHERE id = ?)`,
    ).get(id)?.["seq"];
    return typeof seq === "number" ? seq : undefined;
  }

  /** A deployment's events, in order. */
  eventsOf(id: string): OutboxEvent[] {
    const rows = this.#sql(
      `SELECT *, ?1 AS deployment_id FROM outbox
       WHERE deployment = (SELECT number FROM deployments WHERE id = ?1) ORDER BY device_seq`,
    ).all(id);
    return rows.map((row) => this.#toEvent(row));
  }

  /** Events for the control plane after a position, in order. */
  *eventsAfter(position: number): Iterable<OutboxEvent> {
    for (const row of this.#sql(PENDING_EVENTS).iterate(position)) yield this.#toEvent(row);
  }

  #saveRecord(id: string, text: string): number {
    const row = this.find(id);
    if (!row)
      return Number(this.#sql("INSERT INTO deployments (id, record) VALUES (?, ?)").run(id, text).lastInsertRowid);
    // Most steps do not change the record: then no page is written.
    if (row["record"] !== text) this.#sql("UPDATE deployments SET record = ? WHERE id = ?").run(text, id);
    return Number(row["number"]);
  }

  #append(deployment: number, content: EventContent): void {
    // Before progress is deleted below: the number follows from the last event, which may be progress.
    const last = this.#sql("SELECT max(device_seq) AS seq FROM outbox WHERE deployment = ?").get(deployment);
    const isProgress = content.progress !== undefined;
    if (isProgress) this.#sql("DELETE FROM outbox WHERE deployment = ? AND is_progress = 1").run(deployment);
    this.#sql(
      `INSERT INTO outbox (position, deployment, device_seq, is_progress, is_final, boot_id, monotonic_ms, content)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      this.#nextPosition++,
      deployment,
      Number(last?.["seq"] ?? 0) + 1,
      Number(isProgress),
      Number(isFinal(content)),
      this.#bootId,
      Math.floor(this.#clock.monotonic()),
      JSON.stringify(content),
    );
  }

  #toEvent(row: Row): OutboxEvent {
    const isThisBoot = row["boot_id"] === this.#bootId;
    const ageMs = Math.floor(this.#clock.monotonic()) - Number(row["monotonic_ms"]);
    return {
      position: Number(row["position"]),
      deploymentId: String(row["deployment_id"]),
      event: {
        ...(JSON.parse(String(row["content"])) as EventContent),
        device_seq: Number(row["device_seq"]),
        ...(isThisBoot && ageMs >= 0 && { age_ms: ageMs }),
      },
    };
  }
}
