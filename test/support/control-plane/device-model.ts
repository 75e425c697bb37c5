import type { DeviceEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import type { AgentFrame, ControlFrame } from "../../../src/protocol/link/frames.ts";

type Ended = "Success" | "Fail";

interface HeldDeployment {
  lastSeq: number;
  /** Unacknowledged events, in order. */
  outbox: DeviceEvent[];
  end: Ended | undefined;
}

/** The message of each event of a model, by its number. */
export function eventMessage(seq: number): string {
  return `event ${seq} of the device`;
}

/**
 * A device as the protocol defines it: its records of deployments and its reactions to frames, without an engine, time or
 * link.
 */
export class DeviceModel {
  readonly held = new Map<string, HeldDeployment>();
  /** Outcomes of the deployments whose final event was acknowledged. */
  readonly ended = new Map<string, Ended>();
  /** Deployments that were cancelled after their success had been acknowledged. */
  readonly undoneAfterSuccess: string[] = [];
  /** Deployments whose command arrived more than once over one connection. */
  readonly sentTwice: string[] = [];
  #received = new Set<string>();
  #send: ((frame: AgentFrame) => void) | undefined;

  /** Connects: sends hello, and the events that were not acknowledged. */
  connect(send: (frame: AgentFrame) => void): void {
    this.#send = send;
    this.#received = new Set();
    const deployments = [...this.held.keys()].map((id) => ({ deployment_id: id }));
    send({ type: "hello", protocol: 1, agent_version: "model", deployments });
    for (const [id, { outbox }] of this.held) for (const event of outbox) this.#sendEvent(id, event);
  }

  disconnect(): void {
    this.#send = undefined;
  }

  receive(frame: ControlFrame): void {
    switch (frame.type) {
      case "deploy":
      case "command":
      case "apply":
      case "update_agent":
        if (this.#received.has(frame.deployment_id)) this.sentTwice.push(frame.deployment_id);
        this.#received.add(frame.deployment_id);
        if (!this.held.has(frame.deployment_id) && !this.ended.has(frame.deployment_id)) {
          this.held.set(frame.deployment_id, { lastSeq: 0, outbox: [], end: undefined });
        }
        return this.#send?.({ type: "ack", deployment_id: frame.deployment_id });
      case "cancel":
        return this.#cancel(frame.deployment_id);
      case "event_ack":
        return this.#onEventAck(frame.deployment_id, frame.device_seq);
      case "query":
        return this.#answer(frame);
      case "welcome":
      case "health_thresholds":
      case "query_cancel":
      case "stream_open":
      case "stream_credit":
      case "stream_close":
      case "stream_resize":
      case "goodbye":
    }
  }

  /** Sends an event of a held deployment, unless that has ended. */
  report(id: string, status: "Running" | Ended): void {
    const held = this.held.get(id);
    if (!held || held.end) return;
    if (status !== "Running") held.end = status;
    const event: DeviceEvent = {
      status,
      message: eventMessage(held.lastSeq + 1),
      step: status === "Running" ? "pulling" : "done",
      ...(status === "Fail" && { code: "CrashLoopBackOff" as const }),
      device_seq: ++held.lastSeq,
    };
    held.outbox.push(event);
    this.#sendEvent(id, event);
  }

  #cancel(id: string): void {
    const held = this.held.get(id);
    if (this.ended.get(id) === "Success") this.undoneAfterSuccess.push(id);
    if (!held || held.end === "Fail") return;
    held.end = undefined;
    this.report(id, "Fail");
  }

  #onEventAck(id: string, seq: number): void {
    const held = this.held.get(id);
    if (!held) return;
    held.outbox = held.outbox.filter(({ device_seq }) => device_seq > seq);
    if (!held.end || held.outbox.length > 0) return;
    this.held.delete(id);
    this.ended.set(id, held.end);
  }

  #answer({ query_id: queryId, what, params }: Extract<ControlFrame, { type: "query" }>): void {
    if (what !== "deployments") {
      return this.#send?.({ type: "query_end", query_id: queryId, code: "InvalidRequest", message: "not known" });
    }
    const { deployment_ids: ids } = params as { deployment_ids: readonly string[] };
    const deployments = ids.map((id) => ({
      deployment_id: id,
      status: this.held.has(id) ? "Running" : (this.ended.get(id) ?? null),
    }));
    this.#send?.({ type: "answer", query_id: queryId, body: { deployments } });
  }

  #sendEvent(id: string, event: DeviceEvent): void {
    this.#send?.({ type: "event", deployment_id: id, event });
  }
}
