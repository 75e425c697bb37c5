import { KeyedLock } from "../../lib/keyed-lock.ts";
import { LABELS } from "../core/app/container.ts";
import { enginePrefix } from "./engine-prefix.ts";
import type { VolumeSummary } from "./volumes.ts";

/** Label of a volume with the name that apps give it. */
const VOLUME_LABEL = "io.edge-agent.volume";

/** Returns the engine's name of a volume that the agent manages. Several agents may share an engine. */
export function engineVolumeName(volume: string, stateDir: string): string {
  return `${enginePrefix(stateDir)}.${volume}`;
}

/**
 * By the engine's name of a volume. The caller that makes a volume holds its lock from the look whether it exists, and the one
 * that deletes it from the look whether an app has it: a deployment that has been accepted never finds a volume that is about to go.
 */
export const volumeLock = new KeyedLock();

/** Returns the labels of a volume. @param deploymentId the deployment it is made for */
export function volumeLabels(volume: string, stateDir: string, deploymentId: string): Record<string, string> {
  return { [VOLUME_LABEL]: volume, [LABELS.stateDir]: stateDir, [LABELS.deployment]: deploymentId };
}

/** Returns the name that apps give the volume; `undefined` if this agent did not make it. */
export function managedVolume({ name, labels }: VolumeSummary, stateDir: string): string | undefined {
  const volume = labels[VOLUME_LABEL];
  if (volume === undefined || labels[LABELS.stateDir] !== stateDir) return undefined;
  return name === engineVolumeName(volume, stateDir) ? volume : undefined;
}
