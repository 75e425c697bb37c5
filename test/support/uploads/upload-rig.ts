import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "../agent-rig.ts";
import { tempDir } from "../temp-dir.ts";

export const UPLOAD_IMAGE = "example/app:1";
export const POLICY = {
  privileged: true,
  host_network: true,
  mounts: { allow: [], deny: [] },
  registries: { allow: [] },
};

/** An agent on a state directory of its own, which has the image. */
export async function newUploadRig(config: Partial<ConstructorParameters<typeof AgentRig>[0]> = {}): Promise<AgentRig> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const rig = new AgentRig({ stateDir: directory.path, ...config });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  rig.engine.addImage(UPLOAD_IMAGE);
  return rig;
}

export async function deployed(
  rig: AgentRig,
  id: string,
  name: string,
  files: readonly object[],
  options: object = {},
) {
  rig.deployments.deploy(id, { name, image: UPLOAD_IMAGE, files }, options);
  return await rig.untilEnd(id);
}

/** Where the first file of an app is mounted from. */
export const sourceOf = (rig: AgentRig, app: string): string => rig.engine.container(app)!.request.files![0]!.source;

/** Names of the contents that were fetched. */
export function onDisk({ stateDir }: AgentRig): string[] {
  return existsSync(join(stateDir, "uploads")) ? readdirSync(join(stateDir, "uploads")).toSorted() : [];
}

/** @param isRebuilding whether the store was lost */
export function reconcilerOf(rig: AgentRig, isRebuilding: boolean): AppReconciler {
  const { services, deployments } = rig;
  const rebuild = { isSet: isRebuilding, clear: () => void (rebuild.isSet = false) };
  return new AppReconciler({
    ...services,
    rebuild,
    lease: (app) => deployments.lease(app),
    endedRuns: () => deployments.endedRuns,
  });
}
