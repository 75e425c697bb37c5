import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { ContainerSnapshot } from "./container-status.ts";

/** When the engine restarts an app's container. `undefined` in a specification means `unless-stopped`. */
export type RestartPolicy = NonNullable<AppSpec["restart_policy"]>;

const POLICIES: readonly RestartPolicy[] = ["unless-stopped", "always", "on-failure", "no"];

/** Reads a policy from the local API; `undefined` for one that this version does not know. */
export function parseRestartPolicy(text: string | null | undefined): RestartPolicy | undefined {
  return POLICIES.find((policy) => policy === text);
}

/** Whether the app may end by itself without being restarted. */
export function mayExit(policy: RestartPolicy | undefined): boolean {
  return policy === "no" || policy === "on-failure";
}

/** Whether a run with this exit code completed the app's task. */
export function exitedSuccessfully(policy: RestartPolicy | undefined, exitCode: number): boolean {
  return mayExit(policy) && exitCode === 0;
}

/** How the last run of an app's container ended, and its restarts by then. */
export type EndedRun = Pick<ContainerSnapshot, "exitCode" | "restartCount" | "maxRestarts">;

/** Whether the engine has restarted an app that fails as often as it may. */
export function hasGivenUp({ exitCode, restartCount, maxRestarts }: EndedRun): boolean {
  return maxRestarts !== undefined && exitCode !== 0 && restartCount >= maxRestarts;
}

/**
 * Whether an app whose container has exited stays down. An `on-failure` app that was interrupted, such as by a power
 * cut, must be started by the agent: engines do not do that. One that has used up its restarts is not.
 *
 * @param last its last run; `undefined` if unknown
 */
export function staysExited(policy: RestartPolicy | undefined, last: EndedRun | undefined): boolean {
  return (
    policy === "no" || (policy === "on-failure" && last !== undefined && (last.exitCode === 0 || hasGivenUp(last)))
  );
}
