import { MASK } from "../../lib/redact.ts";
import type { AppFleet } from "../../protocol/apps/app-fleet.ts";
import type { AppReport } from "../../protocol/apps/app-report.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { parseImageReference } from "../../protocol/apps/image-reference.ts";
import { withoutSecretParts, withSecretTextsMasked } from "../../protocol/apps/secret-texts.ts";
import type { HeldWork } from "../core/service/crash-loop.ts";
import type { AppRecord, FleetMark } from "../core/records.ts";
import { reportedFiles } from "../core/app/files.ts";
import type { RunEnd } from "../core/app/container-status.ts";
import { runState } from "../core/app/run-state.ts";
import type { ContainerState, ImageFacts } from "../engine/engine.ts";

export interface AppObservation {
  readonly app: AppRecord;
  /** `undefined` if the app has none. */
  readonly container: ContainerState | undefined;
  readonly image: ImageFacts | undefined;
  readonly lastDeployment: AppReport["last_deployment"];
  /** What is declared secret in its specification. */
  readonly secrets: readonly string[];
  /** Why the agent does not bring the app back yet. */
  readonly held?: HeldWork | undefined;
  /** How its run before the one that goes on ended; `undefined`: not known. */
  readonly exit?: RunEnd | undefined;
}

/** Builds an app's report. `recheckMs`: milliseconds until the report may change without any event. */
export function toAppReport(
  { app, container, image, lastDeployment, secrets, held, exit }: AppObservation,
  nowMs: number,
): { readonly report: AppReport; readonly recheckMs: number | undefined } {
  const { spec, desired, fleet, changed } = app;
  const { state, since, recheckMs } = runState(container, nowMs);
  const isDown = desired === "running" && (state === "missing" || state === "stopped");
  const report = {
    name: app.name,
    image: spec.image,
    image_digest: digestOf(app, image),
    state,
    desired_state: desired,
    since,
    restarts: container?.restartCount ?? null,
    ...(exit && desired === "running" && state !== "running" && { last_exit: reportedExit(exit) }),
    spec: masked(spec, secrets),
    last_deployment: lastDeployment,
    // Without the time left: each report would be another one.
    ...(held && isDown && { paused: `${held.text} during the ${held.name}` }),
    ...(fleet && { fleet: reportedFleet(fleet, changed?.by === "foreign") }),
    ...(changed && { changed }),
  };
  return { report, recheckMs };
}

function reportedExit({ exitCode, oomKilled }: RunEnd): NonNullable<AppReport["last_exit"]> {
  return { code: exitCode, ...(oomKilled && { out_of_memory: true }) };
}

function reportedFleet({ name, revision, deploymentId, isChanged }: FleetMark, isForeign: boolean): AppFleet {
  return { name, revision, deployment_id: deploymentId, is_changed: isChanged || isForeign };
}

/** Masks all values of the environment, and declared secrets in commands and labels. */
function masked(spec: AppSpec, secrets: readonly string[]): AppSpec {
  return withVariablesMasked(spec, secrets, () => true);
}

/** Masks declared secrets, for a caller that asked for the values of the environment. */
export function withSecretsMasked(spec: AppSpec, secrets: readonly string[]): AppSpec {
  return withVariablesMasked(spec, secrets, ({ secret }) => secret === true);
}

type Variable = AppSpec["environments"][number];

function withVariablesMasked(
  spec: AppSpec,
  secrets: readonly string[],
  isMasked: (variable: Variable) => boolean,
): AppSpec {
  const environments = withoutSecretParts(spec.environments, secrets).map((variable) =>
    isMasked(variable) ? Object.assign({}, variable, { value: MASK }) : variable,
  );
  return withSecretTextsMasked({ ...withReportedFiles(spec), environments }, secrets);
}

function withReportedFiles(spec: AppSpec): AppSpec {
  return spec.files ? { ...spec, files: reportedFiles(spec.files) } : spec;
}

/**
 * Returns the digest the app was deployed by. Where that is not on record, as after the store was lost: the engine's, in
 * the repository of the reference, if the image is known under several. An engine has none for what the agent loaded.
 */
function digestOf({ spec, digest }: AppRecord, image: ImageFacts | undefined): string | null {
  const wanted = parseImageReference(spec.image);
  const recorded = wanted?.digest ?? digest;
  if (recorded !== undefined) return recorded;
  const known = (image?.repoDigests ?? []).map((name) => parseImageReference(name));
  const own = known.find((name) => name?.repository === wanted?.repository && name?.registry === wanted?.registry);
  return (own ?? known[0])?.digest ?? null;
}
