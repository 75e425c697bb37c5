import { ociArchitecture } from "../../lib/release/architecture.ts";
import { PACKAGE_FOLDER, RELEASES_FOLDER } from "../../lib/release/paths.ts";
import { readReleases } from "../../lib/release/releases-state.ts";
import { keysFolder, readTrustedKeys } from "../../lib/release/trusted-keys.ts";
import type { AgentUpdate } from "../../protocol/agents/agent-update.ts";
import { cancelledBecause } from "../core/deployment/cancelled.ts";
import type { Config } from "../config/load.ts";
import { registryAuthFor } from "../images/request.ts";
import type { CommandHandler } from "../link/ports.ts";
import type { RegistryTrust } from "../registry/trust.ts";
import type { DeploymentCommands } from "../steps/refuse-unstorable.ts";
import type { StoreOnTrial } from "../store/open-store.ts";
import {
  AgentUpdates,
  type DownloadBounds,
  type InstalledVersions,
  type ReleaseSource,
  type UpdateServices,
} from "../updates/agent-updates.ts";
import { runningRelease } from "../updates/describe.ts";
import type { ReleaseLocation } from "../updates/find-release.ts";
import type { ImageServices } from "../images/ports.ts";

const ROOT = 0;

interface Options extends Pick<UpdateServices, "store" | "isWorking" | "clock" | "random" | "logger"> {
  readonly config: Config;
  readonly credentials: ImageServices["credentials"];
  readonly source: Pick<ReleaseSource, "registry" | "blobs">;
  readonly bounds: Pick<DownloadBounds, "gate" | "slots" | "ledger">;
  readonly host: ImageServices["host"];
}

/** Creates the part that updates the agent itself. */
export function createAgentUpdates({ config, credentials, host, ...services }: Options): AgentUpdates {
  const { agent_updates: settings, deploy } = config;
  const versions = installedVersions(config);
  return new AgentUpdates({
    ...services,
    versions,
    source: {
      ...services.source,
      locate: async (update, auth, signal) => {
        if (update.served) return servedLocation(update.served, config);
        const reference = update.image ?? "";
        return { reference, auth: await registryAuthFor({ credentials }, { auth, reference, signal }) };
      },
      readKeys: () => readTrustedKeys(keysFolder(versions), ROOT),
    },
    bounds: {
      ...services.bounds,
      attempts: deploy.pull_attempts,
      maxBytes: deploy.max_download_bytes,
      freeBytes: (path) => host.freeBytes(path),
    },
    settings: { mayDowngrade: settings.downgrade, trialS: settings.trial_s },
  });
}

/** Returns what a version on trial must find of the store; `undefined` if this one is not on trial. */
export function storeOnTrial({
  releasesFolder,
  program,
}: Pick<InstalledVersions, "releasesFolder" | "program">): StoreOnTrial | undefined {
  const { trial, deployment } = readReleases(releasesFolder);
  if (trial === undefined || trial.version !== runningRelease(program, releasesFolder)) return undefined;
  return { hadStore: trial.starts > 1 || deployment?.version === trial.version };
}

/** Returns where the versions of the agent are, and the program that runs. */
export function installedVersions({ state_dir: stateDir }: Pick<Config, "state_dir">): InstalledVersions {
  const [, program = ""] = process.argv;
  const architecture = ociArchitecture(process.arch);
  return { packageFolder: PACKAGE_FOLDER, releasesFolder: RELEASES_FOLDER, stateDir, program, architecture };
}

/** Returns where the service serves a release: at the address that the device connects to, with the device's token. */
export function servedLocation(
  { repository, digest }: NonNullable<AgentUpdate["served"]>,
  { control_plane_url: url, token }: Pick<Config, "control_plane_url" | "token">,
): ReleaseLocation {
  const { host } = new URL(url);
  return { reference: `${host}/${repository}@${digest}`, auth: { kind: "token", token } };
}

/** A service that is reached without encryption serves releases of the agent, and uploads, in the same way. */
export function unencryptedService({ control_plane_url: url }: Pick<Config, "control_plane_url">): RegistryTrust[] {
  const { protocol, host } = new URL(url);
  return protocol === "ws:" ? [{ host, insecure: true }] : [];
}

/** Adds updates of the agent to the commands of a device. */
export function withAgentUpdates(
  deployments: DeploymentCommands,
  updates: Pick<AgentUpdates, "updateAgent" | "cancel">,
): DeploymentCommands & Pick<CommandHandler, "updateAgent"> {
  return {
    deploy: (...args) => deployments.deploy(...args),
    change: (...args) => deployments.change(...args),
    apply: (...args) => deployments.apply(...args),
    updateAgent: (...args) => updates.updateAgent(...args),
    cancel(id, reason) {
      if (!updates.cancel(id, cancelledBecause(reason))) deployments.cancel(id, reason);
    },
    openDeployments: () => deployments.openDeployments(),
    isBusy: (app) => deployments.isBusy(app),
  };
}
