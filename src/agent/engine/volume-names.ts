import { createHash } from "node:crypto";
import { LABELS } from "../core/app/container.ts";
import { DEFAULT_STATE_DIR } from "../core/host/default-state-dir.ts";
import type { VolumeSummary } from "./volumes.ts";

/** Label of a volume with the name that apps give it. */
const VOLUME_LABEL = "io.edge-agent.volume";

const HASH_LENGTH = 8;

/** Returns the engine's name of a volume that the agent manages. Several agents may share an engine. */
export function engineVolumeName(volume: string, stateDir: string): string {
  const hash = createHash("sha256").update(stateDir).digest("hex").slice(0, HASH_LENGTH);
  return `${stateDir === DEFAULT_STATE_DIR ? "edge-agent" : `edge-agent-${hash}`}.${volume}`;
}

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
