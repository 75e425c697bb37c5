import type { AppSpec } from "../../../protocol/app-spec.ts";

/** When the engine restarts an app's container. `undefined` in a specification means `unless-stopped`. */
export type RestartPolicy = NonNullable<AppSpec["restart_policy"]>;

/** Whether an app may end by itself and still be as it should be. */
export function mayExit(policy: RestartPolicy | undefined): boolean {
  return policy === "no" || policy === "on-failure";
}

/** Whether a run that ended like this is the app's success: it did what it was to do. */
export function exitedSuccessfully(policy: RestartPolicy | undefined, exitCode: number): boolean {
  return mayExit(policy) && exitCode === 0;
}

/**
 * Whether an app that is down stays down. One that may only be restarted after a failure is started again when it was
 * cut off, as by a power cut: engines do not see to that.
 *
 * @param exitCode of its last run; `undefined` where it is not known
 */
export function staysExited(policy: RestartPolicy | undefined, exitCode: number | undefined): boolean {
  return policy === "no" || (policy === "on-failure" && exitCode === 0);
}
