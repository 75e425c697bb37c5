import { InProcessBus } from "../../../src/control-plane/bus/in-process-bus.ts";
import type { Deployment, DeploymentChange } from "../../../src/control-plane/core/deployment.ts";
import { CredentialCache } from "../../../src/control-plane/deployments/credentials.ts";
import { DeadlineSweeper } from "../../../src/control-plane/deployments/deadline-sweeper.ts";
import { Recorder } from "../../../src/control-plane/deployments/recorder.ts";
import { localServiceClock } from "../../../src/control-plane/instances/service-clock.ts";
import type { DeploymentStore } from "../../../src/control-plane/store/deployments.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { receivedDeployment } from "../deployment-record.ts";
import { someAudit } from "./people.ts";

/** Sweeper and recorder over a store in memory, for tests of deadlines. */
export interface DeadlineRig extends AsyncDisposable {
  readonly sweeper: DeadlineSweeper;
  readonly recorder: Recorder;
  /** Error codes of the deployments that have ended, in their order, with the time of day. */
  readonly ended: (readonly [code: string, atMs: number])[];
  /** Stores a received deployment. */
  receive(fields?: Partial<Deployment>): Promise<void>;
  /** Stores a deployment as another instance does, of which this one hears nothing. */
  receiveElsewhere(fields?: Partial<Deployment>): Promise<void>;
  change(fields: NonNullable<DeploymentChange["fields"]>, id?: string): Promise<void>;
}

/** @param intercept replaces a method of the store */
export async function startDeadlineRig(
  clock: Clock,
  intercept: (expireDue: DeploymentStore["expireDue"]) => DeploymentStore["expireDue"] = (expireDue) => expireDue,
  pollMs?: number,
): Promise<DeadlineRig> {
  const opened = openStore(":memory:");
  const { deployments } = opened;
  const ended: [string, number][] = [];
  const intercepted = intercept(deployments.expireDue.bind(deployments));
  const expireDue: typeof intercepted = async (...given) => {
    const result = await intercepted(...given);
    for (const { code } of result.expired) if (code) ended.push([code, clock.now()]);
    return result;
  };
  const store = Object.assign(deployments, { expireDue });
  const logger = await createLogger({ name: "test", level: "fatal" });
  const bus = new InProcessBus();
  const serviceClock = localServiceClock(clock);
  const sweeper: DeadlineSweeper = new DeadlineSweeper({
    clock,
    serviceClock,
    logger,
    expireDue: () => recorder.expireDue(),
    pollMs,
  });
  const recorder = new Recorder({
    store,
    bus,
    clock,
    serviceClock,
    logger,
    ackTimeoutMs: 10_000,
    deadlines: sweeper,
    credentials: new CredentialCache(),
    onUnknownResult: () => {},
  });
  return {
    sweeper,
    recorder,
    ended,
    async receive(fields = {}) {
      const { lastEvent, ...deployment } = receivedDeployment({ createdAtMs: clock.now(), ...fields });
      if (!lastEvent) throw new Error("a received deployment has had an event");
      const first = { ...lastEvent, deployment_id: deployment.id };
      const limits = { maxAccountBytes: Number.MAX_SAFE_INTEGER, maxRunningPerAsset: 100 };
      await recorder.create(
        { ...deployment, lastSeq: 0, lastEvent: undefined },
        first,
        undefined,
        limits,
        () => undefined,
        someAudit("deployment.requested"),
      );
    },
    async receiveElsewhere(fields = {}) {
      const { lastEvent, ...deployment } = receivedDeployment({ createdAtMs: clock.now(), ...fields });
      if (!lastEvent) throw new Error("a received deployment has had an event");
      await deployments.createDeployment({ ...deployment, lastSeq: 0, lastEvent: undefined }, lastEvent);
    },
    async change(fields, id = "dep_1") {
      await recorder.update(id, () => ({ fields }));
    },
    async [Symbol.asyncDispose]() {
      sweeper[Symbol.dispose]();
      await opened[Symbol.asyncDispose]();
    },
  };
}
