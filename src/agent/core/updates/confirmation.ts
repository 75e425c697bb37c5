/** How long a version on trial must have been online without a break: longer than a link that drops every minute. */
export const CONFIRM_AFTER_ONLINE_MS = 90_000;

/** An app's container, as it was when the version on trial first saw the engine, and as it is now. */
export interface TrialApp {
  readonly name: string;
  /** Whether a deployment has worked on the app since: then it is not what it was on purpose. */
  readonly isChanged: boolean;
  readonly isThere: boolean;
  readonly isUp: boolean;
  /** Whether the app may end by itself. */
  readonly mayExit: boolean;
}

export interface TrialFacts {
  /** Since when the link has been up; `undefined` if it is not. */
  readonly onlineForMs: number | undefined;
  /** The apps that ran at first; `undefined` if the engine has not answered yet. */
  readonly apps: readonly TrialApp[] | undefined;
}

/**
 * Returns what keeps a version on trial from confirming, as the end of a sentence; `undefined` if it confirms. That it has
 * started, and has opened its store, is a condition of being asked.
 */
export function trialObstacle({ onlineForMs, apps }: TrialFacts): string | undefined {
  if (apps === undefined) return "the container engine has not answered";
  if (onlineForMs === undefined) return "there is no link to the control plane";
  const lost = apps.find(({ isChanged, isThere, isUp, mayExit }) => !isChanged && !(isThere && (isUp || mayExit)));
  if (lost) return `app ${lost.name} does not run any more as it did before`;
  return onlineForMs < CONFIRM_AFTER_ONLINE_MS
    ? `the link has not been up for ${CONFIRM_AFTER_ONLINE_MS / 1000} s without a break`
    : undefined;
}

/** How often a release that was not confirmed is on trial, since that may be the fault of the link. */
const MAX_ATTEMPTS = 3;

/** Whether a release is tried again without being asked for: it did not crash, but could not confirm in time. */
export function isTriedAgain({ reason, attempt }: { readonly reason: string; readonly attempt: number }): boolean {
  return reason === "unconfirmed" && attempt < MAX_ATTEMPTS;
}
