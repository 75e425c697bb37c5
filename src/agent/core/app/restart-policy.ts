import type { AppSpec } from "../../../protocol/apps/app-spec.ts";

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

/**
 * Whether an app whose container has exited stays down. An `on-failure` app that was interrupted, such as by a power
 * cut, must be started by the agent: engines do not do that.
 *
 * @param exitCode of its last run; `undefined` if unknown
 */
export function staysExited(policy: RestartPolicy | undefined, exitCode: number | undefined): boolean {
  return policy === "no" || (policy === "on-failure" && exitCode === 0);
}
