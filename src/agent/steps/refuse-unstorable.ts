import { EdgeError } from "../../protocol/errors/errors.ts";
import type { CommandHandler } from "../link/ports.ts";
import { StoreError } from "../store/store.ts";
import type { DeviceDeployments } from "./deployments.ts";

/** What commands of the control plane do with deployments. */
export type DeploymentCommands = Pick<
  DeviceDeployments,
  "deploy" | "change" | "apply" | "cancel" | "openDeployments" | "isBusy"
>;

type Commands = DeploymentCommands & Pick<CommandHandler, "updateAgent">;

/**
 * Refuses commands that cannot be stored, with the reason. What is known already, such as a repeated command, needs no
 * write.
 *
 * @param onFailedWrite returns what is wrong with the disk, if that is the reason
 */
export function refuseUnstorable(
  deployments: Commands,
  onFailedWrite: () => { readonly text: string } | undefined,
): Commands {
  const refusing = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const reason = onFailedWrite()?.text ?? error.message;
      throw new EdgeError("StateNotWritable", `The device cannot store the request: ${reason}`, undefined, {
        cause: error,
      });
    }
  };
  return {
    deploy: (...args) => refusing(() => deployments.deploy(...args)),
    change: (...args) => refusing(() => deployments.change(...args)),
    apply: (...args) => refusing(() => deployments.apply(...args)),
    updateAgent: (...args) => refusing(() => deployments.updateAgent(...args)),
    cancel: (...args) => deployments.cancel(...args),
    openDeployments: () => deployments.openDeployments(),
    isBusy: (app) => deployments.isBusy(app),
  };
}
