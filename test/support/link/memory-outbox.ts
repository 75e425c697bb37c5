import type { EventSource, OutboxEvent } from "../../../src/agent/store/outbox.ts";
import type { DeviceEvent } from "../../../src/protocol/deployments/deployment-event.ts";

/** An outbox in memory with the guarantees of the stored one. */
export class MemoryOutbox implements EventSource {
  #position = 0;
  #pending: OutboxEvent[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #deviceSeq = new Map<string, number>();

  /** Adds one event of a deployment and calls the listeners. Returns its `device_seq`. */
  add(deploymentId: string, fields: Partial<DeviceEvent> = {}): number {
    const device_seq = (this.#deviceSeq.get(deploymentId) ?? 0) + 1;
    this.#deviceSeq.set(deploymentId, device_seq);
    const event: DeviceEvent = {
      status: "Running",
      message: `event ${device_seq}`,
      step: "pulling",
      ...fields,
      device_seq,
    };
    this.#pending.push({ position: ++this.#position, deploymentId, event });
    for (const listener of this.#listeners) listener();
    return device_seq;
  }

  /** Unacknowledged events. */
  get size(): number {
    return this.#pending.length;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  pendingEvents(position: number, limit: number): readonly OutboxEvent[] {
    return this.#pending.filter((item) => item.position > position).slice(0, limit);
  }

  acknowledge(deploymentId: string, deviceSeq: number): void {
    this.#pending = this.#pending.filter(
      (item) => item.deploymentId !== deploymentId || item.event.device_seq > deviceSeq,
    );
  }

  onEvents(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
