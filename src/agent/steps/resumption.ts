import { crashFailure } from "../core/service/crash-loop.ts";
import type { DeploymentRecord, Failure } from "../core/records.ts";
import { deploymentWork } from "../store/crash-guard.ts";
import { pendingDeployments } from "../store/pending-deployments.ts";
import type { DeployServices } from "./context.ts";

type ResumptionServices = Pick<DeployServices, "store" | "crashGuard" | "logger">;

/** What is resumed after a start, in this order. */
export interface Resumption {
  readonly groups: readonly DeploymentRecord[];
  readonly deployments: readonly DeploymentRecord[];
}

/**
 * Counts the end of the agent's run before this one, and returns what is resumed. Deployments that the agent has crashed during
 * too often have a failure: they are given up.
 */
export function planResumption(services: ResumptionServices): Resumption {
  const { store, crashGuard } = services;
  const all = store.deployments();
  // An update of the agent is resumed by itself: it goes through restarts, and its trial has a count of its own.
  const open = all.filter(({ outcome, action }) => outcome === "pending" && action !== "update_agent");
  const apps = store.apps().map(({ name }) => name);
  crashGuard.start([...new Set(open.map(workOf))], apps);
  const sorted = crashGuard.sorted(open, workOf).map((record) => afterCrashes(record, services));
  // Apps of a group are resumed by it; without its record they go back.
  const orphans = sorted.filter(({ group }) => group && !all.some(({ id }) => id === group.id));
  const pending = sorted.filter(({ action, group }) => action !== "apply" && !group);
  return {
    groups: sorted.filter(({ action }) => action === "apply"),
    deployments: [
      ...orphans.map(withoutGroup),
      // A rollback of a success waits for later deployments of the app, as it did before the restart.
      ...pending.filter((record) => !mustRollBack(record)),
      ...pending.filter(mustRollBack),
    ],
  };
}

const LOST_GROUP: Failure = { code: "Internal", message: "The record of the group was damaged.", step: "done" };

function withoutGroup(record: DeploymentRecord): DeploymentRecord {
  return record.failure ? record : { ...record, failure: LOST_GROUP };
}

/**
 * Returns the record of a resumed deployment, with a failure if the agent has crashed during it too often, and without the
 * restoration of what was there before if that happened during the rollback too. The apps of a group go back with it. Not
 * stored: the count is, and decides the same again.
 */
export function afterCrashes(
  record: DeploymentRecord,
  { store, crashGuard, logger }: ResumptionServices,
): DeploymentRecord {
  const work = workOf(record);
  const times = crashGuard.timesReached(work);
  if (times === 0 || record.outcome !== "pending") return record;
  const { id, app, group, touched } = record;
  const announced = pendingDeployments(store).find((pending) => pending.id === (group?.id ?? id));
  const failure = crashFailure(crashGuard.count(work), announced?.step ?? "done");
  if (!group && !record.failure)
    logger.error(
      { deployment: id, app, reason: failure.message },
      "a deployment is given up. If it comes back: edge-agent support-bundle FILE",
    );
  return {
    ...record,
    failure: record.failure ?? (group ? undefined : failure),
    rollbackFailure: record.rollbackFailure ?? (times > 1 && touched ? failure : undefined),
  };
}

/** The work that an unclean end of the agent during a deployment is put down to: the group's, for an app of one. */
export function workOf({ id, group }: DeploymentRecord): string {
  return deploymentWork(group?.id ?? id);
}

/** Whether a success has to be rolled back. */
export function mustRollBack({ committed, failure }: DeploymentRecord): boolean {
  return committed && failure !== undefined;
}
