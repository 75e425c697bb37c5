/** Returns the deployment id of an app of a group. @param number from 1 */
export function childId(groupId: string, number: number): string {
  return `${groupId}.${number}`;
}

const CHILD_ID = /^(.+)\.[0-9]+$/;

/** Returns the id of the group that a deployment id is part of; the id itself if it is none of a group's app. */
export function requestedDeploymentId(deploymentId: string): string {
  return CHILD_ID.exec(deploymentId)?.[1] ?? deploymentId;
}
