import { expect, test } from "vitest";
import type { Deployment, UndeliveredDeployment } from "../../../../src/control-plane/core/deployment.ts";
import { DeploymentFrames, type DeploymentFramesOptions } from "../../../../src/control-plane/deployments/frames.ts";
import { type Fact, next } from "../../../../src/control-plane/core/next.ts";
import type { DeviceSession } from "../../../../src/control-plane/devices/session.ts";
import { MAX_UNDELIVERED } from "../../../../src/control-plane/store/deployments.ts";
import { failed, receivedDeployment, T0 } from "../../../support/deployment-record.ts";

const ended: Partial<Deployment> = { state: failed("DeviceNotReachable", "undo") };

/** A handler of a device for which these deployments wait to be undone. */
function setUp(waiting: Deployment[]) {
  const forget = (id: string): void => {
    const index = waiting.findIndex((deployment) => deployment.id === id);
    waiting.splice(index, 1);
  };
  const options = {
    store: {
      listUndelivered: async (): Promise<readonly UndeliveredDeployment[]> => waiting.slice(0, MAX_UNDELIVERED),
      listUnfinishedSummaries: async () => [],
      findSummary: async (id: string) => waiting.find((deployment) => deployment.id === id),
    },
    executor: {
      apply: async (id: string, fact: Fact) => {
        const found = waiting.find((deployment) => deployment.id === id);
        if (found && next(found, fact, { nowMs: T0, serviceNowMs: 0, ackTimeoutMs: 10_000 })) forget(id);
      },
    },
    delivery: { cancel: () => undefined },
    outcomeQueries: { queryOutcomes: async () => undefined },
  } as unknown as DeploymentFramesOptions;
  return new DeploymentFrames(options);
}

const session = { assetUuid: receivedDeployment().assetUuid, epoch: 1 } as DeviceSession;

test("a device that holds nothing has nothing left to undo, however much was waiting", async () => {
  const count = 2 * MAX_UNDELIVERED + 1;
  const waiting = Array.from({ length: count }, (_, index) => receivedDeployment({ id: `dep_${index}`, ...ended }));
  await setUp(waiting).onConnected(session, ["dep_7"]);
  expect(waiting.map(({ id }) => id)).toEqual(["dep_7"]);
});

test("more than one list of what the device holds is no reason to read on for ever", async () => {
  const waiting = Array.from({ length: MAX_UNDELIVERED + 1 }, (_, index) =>
    receivedDeployment({ id: `dep_${index}`, ...ended }),
  );
  await setUp(waiting).onConnected(
    session,
    waiting.map(({ id }) => id),
  );
  expect(waiting).toHaveLength(MAX_UNDELIVERED + 1);
});
