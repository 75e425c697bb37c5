import type { AppRecord, DeploymentRecord } from "../records.ts";

/**
 * Returns the apps whose fleet mark changes with the end of a group, with their new marks. A success marks every app of the
 * group, also those that did not differ. A success that is undone gives these their earlier mark back; the others have it
 * from their rollback.
 *
 * @param apps the installed apps
 */
export function fleetMarks(
  group: DeploymentRecord,
  children: readonly DeploymentRecord[],
  apps: readonly AppRecord[],
): AppRecord[] {
  const { id: deploymentId, apply, failure } = group;
  if (!apply?.fleet || group.options.dry_run) return [];
  const fleet = { ...apply.fleet, deploymentId, isChanged: false };
  return children.flatMap((child): AppRecord[] => {
    const app = apps.find(({ name }) => name === child.app);
    if (!app || !isResultOf(child, app)) return [];
    // What another tool has made stays that, unless it was replaced.
    const changed = app.changed?.by === "foreign" ? app.changed : undefined;
    if (!failure) return [{ ...app, fleet, changed }];
    if (app.fleet?.deploymentId !== deploymentId) return [];
    return [{ ...app, fleet: child.previous?.fleet, changed: child.previous?.changed }];
  });
}

/** Whether the app is as the deployment left it: another one may have changed or replaced it since. */
function isResultOf({ id, action, outcome, result, previous }: DeploymentRecord, app: AppRecord): boolean {
  if (outcome !== "succeeded" || action === "remove") return false;
  return app.deploymentId === (result === "unchanged" ? previous?.deploymentId : id);
}
