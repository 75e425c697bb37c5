import { expect, test } from "vitest";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import type { Deployment, DeploymentChange } from "../../../src/control-plane/core/deployment.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { acknowledged, receivedDeployment, T0, uncertain } from "../../support/deployment-record.ts";
import { describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

/** Contract of stores for the figures of the metrics. */
export function statisticsContract(harness: StoreHarness): void {
  describeDomain("statistics", harness, () => {
    test("count unfinished deployments by the first state that applies", async () => {
      await using store = await openWithAccounts(harness);
      expect(await store.statistics.countUnfinished()).toEqual(new Map());
      const { uuid: assetUuid } = await register(store, someAsset());
      const changes: Record<string, NonNullable<DeploymentChange["fields"]>> = {
        dep_running: { state: acknowledged() },
        dep_running_too: { state: acknowledged() },
        dep_undelivered: {},
        dep_waiting: { state: { kind: "waiting", sendingSinceMs: undefined } },
        dep_cancelling: { cancelRequestedAtMs: T0 },
        dep_uncertain: { state: uncertain("overdue") },
      };
      for (const [id, fields] of Object.entries(changes)) {
        await create(store, receivedDeployment({ id, assetUuid }));
        await updateDeployment(store.deployments, id, () => ({ fields }));
      }
      await create(store, receivedDeployment({ id: "dep_ended", assetUuid }));
      await updateDeployment(store.deployments, "dep_ended", (current) => fail(current, T0, "DeploymentTimeout"));
      expect(await store.statistics.countUnfinished()).toEqual(
        new Map([
          ["waiting_for_device", 1],
          ["cancelling", 1],
          ["undelivered", 1],
          ["uncertain", 1],
          ["running", 2],
        ]),
      );
    });

    test("count devices by the version of their agent, the most frequent ones first", async () => {
      await using store = await openWithAccounts(harness);
      expect(await store.statistics.countAgentVersions(10)).toEqual(new Map());
      await store.instances.join({ id: "ins_1", version: "1", startedAtMs: 0, leaseUntilMs: 1_000, nowMs: 0 });
      for (const agentVersion of ["1.5.0", "1.4.0", "1.5.0", "1.3.0", undefined]) {
        const { uuid: assetUuid } = await register(store, someAsset());
        const session = { assetUuid, sessionId: "s", instanceId: "ins_1", protocol: 1, at: 5 };
        if (agentVersion !== undefined) await store.sessions.open({ ...session, agentVersion });
      }
      expect([...(await store.statistics.countAgentVersions(2))]).toEqual([
        ["1.5.0", 2],
        ["1.3.0", 1],
      ]);
    });
  });
}

async function create(store: Store, deployment: Deployment): Promise<void> {
  if (!deployment.lastEvent) throw new Error("a received deployment has an event");
  await createDeployment(store.deployments, { ...deployment, lastSeq: 0, eventBytes: 0 }, deployment.lastEvent);
}
