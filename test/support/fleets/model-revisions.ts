import { applySchema } from "../../../src/protocol/apps/apply.ts";
import { type Goal, goalOf, type RevisionContent } from "../../../src/control-plane/core/fleets/fleet.ts";

/** Name of the model's fleet. */
export const FLEET = "kiosk";

/** Returns the image of the only app of a revision, by digest. */
export function imageOf(revision: number): string {
  return `registry.example.com/web@sha256:${revision.toString(16).padStart(64, "0")}`;
}

/** Returns a revision with one app. */
export function contentOf(revision: number): RevisionContent {
  const app = { name: "web", image: imageOf(revision), environments: [{ key: "SITE", value: "${SITE}" }] };
  return applySchema.parse({ project: FLEET, apps: [{ app }] });
}

/** Returns what a device is to run, going to `revision` from `other`. */
export function modelGoal(revision: number | undefined, other: number | undefined): Goal {
  return goalOf(FLEET, revision, findContent(revision), findContent(other));
}

function findContent(revision: number | undefined): RevisionContent | undefined {
  return revision === undefined ? undefined : contentOf(revision);
}
