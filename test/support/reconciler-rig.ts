import { AppReconciler } from "../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "./agent-rig.ts";

/** A rig with deployed apps and a reconciler that the test runs. */
export async function deployedApps(image: string, ...names: string[]) {
  const rig = new AgentRig();
  rig.engine.addImage(image);
  for (const name of names) {
    rig.deployments.deploy(`d-${name}`, { name, image });
    await rig.untilEnd(`d-${name}`);
  }
  const rebuild = { isSet: false, clear: () => void (rebuild.isSet = false) };
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  return { rig, reconciler, rebuild };
}
