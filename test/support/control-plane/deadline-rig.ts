import { InProcessBus } from "../../../src/control-plane/bus/in-process-bus.ts";
import { completeChange, completeNew, nextDueMs } from "../../../src/control-plane/core/deadlines.ts";
import { codeOf, type Deployment, type DeploymentChange } from "../../../src/control-plane/core/deployment.ts";
import { CredentialCache } from "../../../src/control-plane/deployments/credentials.ts";
import { DeadlineSweeper } from "../../../src/control-plane/deployments/deadline-sweeper.ts";
import { DeploymentExecutor } from "../../../src/control-plane/deployments/executor.ts";
import type { DeploymentUpdate } from "../../../src/control-plane/store/deployments.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { ServiceClock } from "../../../src/control-plane/instances/service-clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { receivedDeployment } from "../deployment-record.ts";
import { createDeployment, updateDeployment } from "../store-deployment.ts";

/** Sweeper and executor over a store in memory, for tests of deadlines. */
export interface DeadlineRig extends AsyncDisposable {
  readonly sweeper: DeadlineSweeper;
  readonly executor: DeploymentExecutor;
  /** Error codes of the deployments that have ended, in their order, with the time of day. */
  readonly ended: (readonly [code: string, atMs: number])[];
  /** Stores a received deployment whose deadlines are armed. */
  receive(fields?: Partial<Deployment>): Promise<void>;
  /** Stores a deployment as another instance does, of which this one hears nothing. */
  receiveElsewhere(fields?: Partial<Deployment>): Promise<void>;
  /** Resumes what is unfinished, as a service that has started does. */
  resume(): Promise<void>;
  change(fields: NonNullable<DeploymentChange["fields"]>, id?: string): Promise<void>;
}

/** @param intercept called before each look for the next deadline */
export async function startDeadlineRig(
  clock: ServiceClock,
  intercept: () => Promise<void> = async () => {},
  pollMs?: number,
): Promise<DeadlineRig> {
  const opened = openStore(":memory:");
  const { deployments } = opened;
  const ended: [string, number][] = [];
  const findNextDue = deployments.findNextDue.bind(deployments);
  const updateDeployments = deployments.updateDeployments.bind(deployments);
  const store = Object.assign(deployments, {
    findNextDue: async () => {
      await intercept();
      return findNextDue();
    },
    updateDeployments: async (updates: readonly DeploymentUpdate[]) => {
      const stored = await updateDeployments(updates);
      for (const { after } of updates) {
        const code = codeOf(after);
        if (stored.has(after.id) && code) ended.push([code, clock.now()]);
      }
      return stored;
    },
  });
  const logger = await createLogger({ name: "test", level: "fatal" });
  const bus = new InProcessBus();
  const sweeper: DeadlineSweeper = new DeadlineSweeper({
    clock,
    logger,
    expireDue: () => executor.expireDue(),
    pollMs,
  });
  const executor = new DeploymentExecutor({
    store,
    bus,
    clock,
    logger,
    ackTimeoutMs: 10_000,
    sweepers: { deadlines: sweeper, undelivered: { sweepSoon: () => {} } },
    credentials: new CredentialCache(),
  });
  const time = () => ({ nowMs: clock.now(), serviceNowMs: clock.serviceNow(), ackTimeoutMs: 10_000 });
  return {
    sweeper,
    executor,
    ended,
    async receive(fields = {}) {
      const { lastEvent, ...deployment } = receivedDeployment({ createdAtMs: clock.now(), ...fields });
      if (!lastEvent) throw new Error("a received deployment has had an event");
      const first = { ...lastEvent, deployment_id: deployment.id };
      const received = completeNew({ ...deployment, lastSeq: 0, lastEvent: undefined }, time());
      await createDeployment(deployments, received, first);
      sweeper.note(nextDueMs(received)!);
    },
    async receiveElsewhere(fields = {}) {
      const { lastEvent, ...deployment } = receivedDeployment({ createdAtMs: clock.now(), ...fields });
      if (!lastEvent) throw new Error("a received deployment has had an event");
      await createDeployment(deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, lastEvent);
    },
    async resume() {
      const unfinished = await deployments.listUnfinished();
      await executor.applyAll(unfinished, { kind: "service_started", isOtherDatabase: false });
    },
    async change(fields, id = "dep_1") {
      const after = await updateDeployment(deployments, id, (before) => completeChange(before, { fields }, time()));
      const dueMs = after && nextDueMs(after);
      if (dueMs !== undefined) sweeper.note(dueMs);
    },
    async [Symbol.asyncDispose]() {
      sweeper[Symbol.dispose]();
      await opened[Symbol.asyncDispose]();
    },
  };
}
