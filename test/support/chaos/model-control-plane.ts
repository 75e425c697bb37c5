import type { DeviceDeployments } from "../../../src/agent/steps/deployments.ts";
import { readDeploymentOutcomes } from "../../../src/agent/live/deployment-outcomes.ts";
import type { AgentStore } from "../../../src/agent/store/store.ts";
import type { Command } from "../../../src/control-plane/core/command.ts";
import { confirmOnDevice } from "../../../src/control-plane/core/connection-notes.ts";
import {
  type DeploymentChange,
  type Deployment,
  isFinished,
  newDeployment,
} from "../../../src/control-plane/core/deployment.ts";
import { completeChange } from "../../../src/control-plane/core/deadlines.ts";
import { cancelReason, deliveryOf, reconcile } from "../../../src/control-plane/core/delivery.ts";
import { markForOutcomeQuery, applyOutcome } from "../../../src/control-plane/core/resolve-outcome.ts";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import {
  acknowledge,
  receivedEvent,
  replyToEvent,
  requestCancel,
  applyDeviceEvent,
} from "../../../src/control-plane/core/transitions.ts";
import type { DeploymentAction } from "../../../src/protocol/deployments/deployment-action.ts";
import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import type { SeededRandom } from "./seeded-random.ts";

const DELIVERED = 0.7;
const ACKNOWLEDGED = 0.7;

/** A client's request. */
export interface ScenarioRequest {
  readonly action: DeploymentAction;
  readonly app: string;
  /** The app's specification, or the fields an update changes. */
  readonly spec?: unknown;
}

/**
 * A control plane with the real one's pure decision code, over a simulated link that delays events and loses
 * acknowledgements. No network and no store.
 */
export class ModelControlPlane {
  /** The events streamed to clients, by deployment. */
  readonly streams = new Map<string, DeploymentEvent[]>();
  readonly #deployments = new Map<string, Deployment>();
  readonly #clock: { now(): number };
  readonly #random: SeededRandom;
  readonly #onChange: () => void;
  /** Number of the current session. */
  #epoch = 0;
  #hasEvents = true;

  /** @param onChange called after each change of a record */
  constructor(clock: { now(): number }, random: SeededRandom, onChange: () => void) {
    this.#clock = clock;
    this.#random = random;
    this.#onChange = onChange;
  }

  get isDone(): boolean {
    return [...this.#deployments.values()].every(isFinished);
  }

  /** Returns a deployment's record. Throws if there is none. */
  deployment(id: string): Deployment {
    const deployment = this.#deployments.get(id);
    if (!deployment) throw new Error(`unknown deployment ${id}`);
    return deployment;
  }

  /** Accepts a client's request. The device gets it with the next `connect`. */
  request(id: string, { action, app, spec = null }: ScenarioRequest): void {
    const deployment = newDeployment({
      id,
      accountId: "acc",
      assetUuid: "asset",
      app,
      command: { action, spec } as Command,
      options: {},
      hasRegistryAuth: false,
      nowMs: this.#clock.now(),
      timeoutMs: 900_000,
    });
    this.#deployments.set(id, deployment);
    this.streams.set(id, []);
    this.#change(id, (current, now) => appendEvent(current, receivedEvent(current), now));
  }

  /** Cancels a deployment for a client. */
  cancel(agent: DeviceDeployments, id: string): void {
    this.#change(id, requestCancel);
    if (!isFinished(this.deployment(id))) agent.cancel(id, "requested");
  }

  /** Handles `hello` of the device. Throws what the agent throws when it crashes in it. */
  connect(agent: DeviceDeployments, store: AgentStore): void {
    this.#hasEvents = true;
    const epoch = ++this.#epoch;
    const held = agent.openDeployments().map((id) => ({ id, deployment: this.#deployments.get(id) }));
    const unfinished = [...this.#deployments.values()].filter((deployment) => !isFinished(deployment));
    for (const correction of reconcile(unfinished, held)) {
      switch (correction.kind) {
        case "confirm":
          this.#change(correction.deploymentId, (current, now) => confirmOnDevice(current, now, epoch));
          break;
        case "query_outcome":
          this.#ask(agent, store, correction.deploymentId);
          break;
        case "cancel":
          agent.cancel(correction.deploymentId, correction.reason);
      }
    }
  }

  /** The device has stored events. */
  onEvents(): void {
    this.#hasEvents = true;
  }

  /** Delivers some of the pending events, and some of their acknowledgements. */
  exchange(agent: DeviceDeployments, store: AgentStore): void {
    if (!this.#hasEvents) return;
    const pending = store.pendingEvents(0, 100);
    this.#hasEvents = pending.length > 0;
    for (const { deploymentId, event } of pending) {
      if (!this.#random.chance(DELIVERED)) return;
      const after = this.#change(deploymentId, (current, now) => applyDeviceEvent(current, event, now, this.#epoch));
      if (!this.#random.chance(ACKNOWLEDGED)) continue;
      if (replyToEvent(after, event) === "acknowledge") store.acknowledge(deploymentId, event.device_seq);
      else agent.cancel(deploymentId, cancelReason(after) ?? "unknown");
    }
  }

  #ask(agent: DeviceDeployments, store: AgentStore, id: string): void {
    this.#change(id, (current, now) => markForOutcomeQuery(current, now, this.#epoch));
    const [outcome] = readDeploymentOutcomes(store, [id]);
    if (!outcome) throw new Error("the agent returned no outcome");
    const before = this.deployment(id);
    const after = this.#change(id, (current, now) => applyOutcome(current, outcome, now, this.#epoch));
    if (deliveryOf(after) === "cancel" && deliveryOf(before) !== "cancel")
      agent.cancel(id, cancelReason(after) ?? "unknown");
    if (deliveryOf(after) !== "command") return;
    send(agent, after);
    this.#change(id, (current, now) => acknowledge(current, now, this.#epoch));
  }

  #change(id: string, decide: (deployment: Deployment, nowMs: number) => DeploymentChange | undefined): Deployment {
    const before = this.deployment(id);
    const nowMs = this.#clock.now();
    const decided = decide(before, nowMs);
    const change = decided && completeChange(before, decided, { nowMs, serviceNowMs: nowMs, ackTimeoutMs: 10_000 });
    const after = {
      ...before,
      ...change?.fields,
      ...(change?.event && { lastEvent: change.event, lastSeq: change.event.seq }),
    };
    this.#deployments.set(id, after);
    if (change?.event) this.streams.get(id)?.push(change.event);
    this.#onChange();
    return after;
  }
}

function send(agent: DeviceDeployments, { id, app, command: { action, spec } }: Deployment): void {
  if (action === "deploy") agent.deploy(id, spec);
  else if (action === "apply") agent.apply(id, spec);
  else if (action !== "update_agent") agent.change(id, { action, app, spec });
}
