/** What a report has of an app's state. */
interface ReportedState {
  readonly state: string;
  readonly desired_state?: string | undefined;
  /** Absent where it is not known, and from old agents. */
  readonly last_exit?: { readonly code: number } | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * Returns the state of an app as people are shown it: `finished` in place of `stopped` for one that may end by itself and
 * has ended without an error, such as a service of a compose file that prepares others. The device's own commands say the
 * same.
 */
export function shownState<S extends string>(app: ReportedState & { readonly state: S }): S | "finished" {
  const { state, desired_state: desired, last_exit: exit, spec } = app;
  return state === "stopped" && desired === "running" && exit?.code === 0 && mayEnd(spec["restart_policy"])
    ? "finished"
    : state;
}

/** Whether an app with this restart policy may end by itself without being started again. */
export function mayEnd(restartPolicy: unknown): boolean {
  return restartPolicy === "no" || restartPolicy === "on-failure";
}
