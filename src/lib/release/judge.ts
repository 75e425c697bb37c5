import { ReleaseError } from "./release-error.ts";
import type { ReleasesState } from "./releases-state.ts";
import type { Statement } from "./statement.ts";
import type { UpdateRequest } from "./messages.ts";
import { compareVersions } from "../../protocol/agents/version-order.ts";

export interface InstallFacts {
  readonly statement: Pick<Statement, "version" | "floor">;
  /** The version that runs, and the oldest that it can be replaced with. */
  readonly running: { readonly version: string; readonly floor: string };
  readonly state: ReleasesState;
  readonly request: Pick<Extract<UpdateRequest, { action: "install" }>, "downgrade" | "again">;
  /** Whether this device's configuration allows older versions. */
  readonly mayDowngrade: boolean;
}

/** Returns why a release whose signature is good is not installed; `undefined` if it is. */
export function findObstacle({
  statement,
  running,
  state,
  request,
  mayDowngrade,
}: InstallFacts): ReleaseError | undefined {
  const { version, floor } = statement;
  const { pin, trial } = state;
  if (pin !== undefined) return refusal("pinned", `a person has pinned this device to ${pin}`);
  if (trial) return refusal("on_trial", `release ${trial.version} is on trial`);
  if (version === running.version) return refusal("installed", `${version} is what runs`);
  const aside = state.setAside.get(version);
  if (aside && !request.again)
    return refusal("set_aside", `release ${version} was set aside on this device (${aside.reason})`);
  if (compareVersions(version, running.version) > 0) {
    if (compareVersions(running.version, floor) >= 0) return undefined;
    return refusal("too_far", `release ${version} follows ${floor} or newer, and ${running.version} runs`);
  }
  if (!request.downgrade)
    return refusal("not_newer", `release ${version} is not newer than ${running.version}, which runs`);
  if (!mayDowngrade)
    return refusal(
      "downgrade_not_allowed",
      "this device's configuration (agent_updates.downgrade) allows no older version",
    );
  if (compareVersions(version, running.floor) >= 0) return undefined;
  return refusal("below_floor", `${running.version} can go back to ${running.floor} at most, and ${version} is older`);
}

function refusal(code: ReleaseError["code"], message: string): ReleaseError {
  return new ReleaseError(code, message);
}
