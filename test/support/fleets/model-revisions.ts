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

/** Returns the version that a revision of the model's fleet asks of the agent, as the middle part of its number. */
export function agentOf(revision: number): number | undefined {
  return revision % 2 === 0 ? revision : undefined;
}

/** The same goals in a fleet that also updates agents: every second revision asks for one, every fourth for nothing else. */
export function fleetGoal(revision: number | undefined, other: number | undefined): Goal {
  return goalOf(FLEET, revision, findWhole(revision), findWhole(other));
}

function findWhole(revision: number | undefined): RevisionContent | undefined {
  if (revision === undefined) return undefined;
  const agent = agentOf(revision);
  const { apps } = contentOf(revision);
  if (agent === undefined) return { apps };
  const served = { repository: "edge-agent", digest: `sha256:${"0".repeat(64)}` };
  return { apps: revision % 4 === 0 ? [] : apps, agent: { version: `1.${agent}.0`, served } };
}
