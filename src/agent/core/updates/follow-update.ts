import { isTriedAgain } from "./confirmation.ts";

/** What is seen of an update after the release was handed to the updater. */
export interface HandedOver {
  /** The version of the release. */
  readonly version: string;
  /** The number of its trial that was seen; 0 before the first. */
  readonly attempt: number;
  /** Whether it is not wanted any more. */
  readonly isCancelled: boolean;
  /** The version that runs; `package` for the package's. */
  readonly running: string;
  /** What the folder of releases says, read after the answer. */
  readonly current: string | undefined;
  readonly pin: string | undefined;
  readonly trial: { readonly version: string; readonly attempt: number } | undefined;
  /** Why this version is set aside. */
  readonly setAside: { readonly attempt: number; readonly reason: string } | undefined;
  /** The updater's answer to the request; `undefined` if it has not answered. */
  readonly answer: { readonly ok: boolean } | undefined;
  /** Whether the updater has had more time for its answer than it takes. */
  readonly isOverdue: boolean;
}

export type UpdateCourse =
  /** The updater unpacks the release, or systemd restarts the agent. */
  | { readonly kind: "wait" }
  /** It is on trial. @property isNew whether this trial was not seen before */
  | { readonly kind: "on_trial"; readonly isNew: boolean }
  /** The version before runs, and tries the release again by itself once it is online. */
  | { readonly kind: "tried_again" }
  /** The updater must be asked, once more. */
  | { readonly kind: "ask" }
  /** The updater must be asked to end the trial. */
  | { readonly kind: "abandon" }
  | { readonly kind: "confirmed" }
  | { readonly kind: "refused" }
  /** The device has gone back, and stays there. */
  | { readonly kind: "back"; readonly reason: string };

/**
 * Decides what has become of an update. It is asked again and again, by the version before and by the one on trial, also after
 * kills and power cuts, so it goes by nothing but what is on disk.
 */
export function followUpdate(seen: HandedOver): UpdateCourse {
  const { version, attempt, running, current, pin, trial, setAside, answer, isCancelled } = seen;
  if (trial?.version === version) {
    // Otherwise the updater's answer or the restart is on its way.
    if (isCancelled) return { kind: "abandon" };
    return { kind: "on_trial", isNew: trial.attempt !== attempt };
  }
  if (current === version && !setAside) {
    if (pin !== undefined && pin !== version) return { kind: "back", reason: "pinned" };
    return running === version ? { kind: "confirmed" } : { kind: "wait" };
  }
  // A trial that ended before it was seen has left its mark all the same.
  const hasBegun = attempt > 0 || (answer?.ok === true && setAside !== undefined);
  // The version that is left sees that first. It is the version before that says so, once it runs.
  if (hasBegun && running === version && pin !== version) return { kind: "wait" };
  if (hasBegun && setAside && setAside.attempt >= attempt) {
    return isTriedAgain(setAside) && !isCancelled ? { kind: "tried_again" } : { kind: "back", reason: setAside.reason };
  }
  if (hasBegun) return { kind: "back", reason: "replaced" };
  // It was put on trial, and that has ended without a mark: a full disk takes no mark, but lets the trial be removed.
  if (answer?.ok === true) return { kind: "back", reason: pin === undefined ? "unwritable" : "pinned" };
  if (answer && !answer.ok) return { kind: "refused" };
  // Nothing runs of it yet, and nothing will.
  if (answer === undefined && isCancelled && seen.isOverdue) return { kind: "back", reason: "cancelled" };
  return answer === undefined && seen.isOverdue ? { kind: "ask" } : { kind: "wait" };
}
