import { Command } from "commander";
import { addAgentReleasesList, addAgentReleasesPush } from "./commands/agent-releases.ts";
import { addAlertsCommands, addAlertSettingsCommands, addSilenceCommands } from "./commands/alerts.ts";
import { addAppsLifecycle, addAppsUpdate } from "./commands/apps-control.ts";
import { addAppsRemove } from "./commands/apps-remove.ts";
import { addAppsList, addAppsLogs, addAppsShow, addAppsStats } from "./commands/apps-read.ts";
import { addApply } from "./commands/apply.ts";
import { addAssetsAccept, addAssetsList, addAssetsShow } from "./commands/assets.ts";
import { addAssetsCode, addAssetsCreate } from "./commands/assets-create.ts";
import { addAssetsHealth } from "./commands/assets-health.ts";
import { addAssetsHistory } from "./commands/assets-history.ts";
import { addAssetsUpdateAgent } from "./commands/assets-update-agent.ts";
import { addAssetsUpdate } from "./commands/assets-update.ts";
import {
  addAssetsHold,
  addAssetsRelease,
  addAssetsTag,
  addVariablesList,
  addVariablesSet,
  addVariablesUnset,
} from "./commands/asset-settings.ts";
import { addAudit } from "./commands/audit.ts";
import { addComposeCheck } from "./commands/compose-check.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDataUsage, addUsage } from "./commands/usage.ts";
import { addDeploy } from "./commands/deploy.ts";
import {
  addDeploymentsCancel,
  addDeploymentsList,
  addDeploymentsShow,
  addDeploymentsWatch,
} from "./commands/deployments.ts";
import { addCp } from "./commands/cp.ts";
import { addDevice, addVolumesList, addVolumesRemove } from "./commands/device.ts";
import { addEvents } from "./commands/events.ts";
import { addExec } from "./commands/exec.ts";
import { addFleetsApply } from "./commands/fleets-apply.ts";
import {
  addFleetsDiff,
  addFleetsList,
  addFleetsMembers,
  addFleetsReapply,
  addFleetsRemove,
  addFleetsRevisions,
  addFleetsShow,
} from "./commands/fleets.ts";
import { addForward } from "./commands/forward.ts";
import { addImagesExplain, addImagesIndex } from "./commands/images.ts";
import { addKeysCreate, addKeysList, addKeysRevoke } from "./commands/keys.ts";
import { addLogin, addLogout, addWhoami } from "./commands/login.ts";
import {
  addRolloutsCommands,
  addRolloutsEvents,
  addRolloutsList,
  addRolloutsRetry,
  addRolloutsShow,
  addRolloutsSummary,
  addRolloutsTargets,
} from "./commands/rollouts.ts";
import { addRolloutsCreate } from "./commands/rollouts-create.ts";
import { addSimsList, addSimsRefresh, addSimsShow } from "./commands/sims.ts";
import { addSimsAllowance, addSimsSettings } from "./commands/sims-plans.ts";
import { addUsersInvite, addUsersList, addUsersRemove, addUsersReset, addUsersRole } from "./commands/users.ts";
import { EXIT_CODE_HELP } from "./failure.ts";
import type { Io } from "./io.ts";
import { isTerminal } from "../lib/terminal/theme.ts";
import { VERSION } from "../lib/version.ts";

const HELP = `
Environment:
  EDGECTL_URL      address of the service, before the stored one
  EDGECTL_API_KEY  API key, before the stored one
  NO_COLOR         no colours

${EXIT_CODE_HELP}`;

/** Creates the command line. Parsing runs a command; all errors are thrown. */
export function createProgram(io: Io): Command {
  const program = new Command("edgectl");
  // Commands inherit these settings when they are created, so the settings come first.
  program
    .description("Manage connected assets and deploy apps to their edge devices.")
    .version(VERSION, "-V, --version", "show the version")
    .option("--url <url>", "address of the service")
    .option("--json", "print JSON for programs: one document, or one per line for a stream of events")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 30 })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      // Printed by `run` together with all other failures.
      outputError: () => undefined,
      getOutHelpWidth: () => (isTerminal(io.stdout, io.env) ? (io.stdout.columns ?? 80) : 80),
      getOutHasColors: () => false,
    })
    .addHelpText("after", HELP);
  addLogin(program, io);
  addLogout(program, io);
  addWhoami(program, io);
  addAssetCommands(program, io);
  addAppCommands(program, io);
  addFleetCommands(program, io);
  addForward(program, io);
  addExec(program, io);
  addCp(program, io);
  addDevice(program, io);
  addSimCommands(program, io);
  const images = program.command("images").description("make updates of images small, and show what they cost");
  addImagesIndex(images, io);
  addImagesExplain(images, io);
  addAccountCommands(program, io);
  addCompletion(program, io);
  return program;
}

/** Assets, the releases of their agents, and alerts about them. */
function addAssetCommands(program: Command, io: Io): void {
  const assets = program.command("assets").description("list, show, register and change assets");
  addAssetsList(assets, io);
  addAssetsShow(assets, io);
  addAssetsHistory(assets, io);
  addAssetsHealth(assets, io);
  addAssetsCreate(assets, io);
  addAssetsCode(assets, io);
  addAssetsAccept(assets, io);
  addAssetsUpdate(assets, io);
  addAssetsUpdateAgent(assets, io);
  addAssetsTag(assets, io);
  addAssetsHold(assets, io);
  addAssetsRelease(assets, io);
  const releases = program.command("agent-releases").description("list and push releases of the agent for devices");
  addAgentReleasesList(releases, io);
  addAgentReleasesPush(releases, io);
  const alerts = program.command("alerts").description("see what is the matter, and set whom that is told");
  addAlertsCommands(alerts, io);
  addSilenceCommands(alerts, io);
  addAlertSettingsCommands(alerts, io);
}

/** The apps of one device. */
function addAppCommands(program: Command, io: Io): void {
  addDeploy(program, io);
  addApply(program, io);
  addComposeCheck(program.command("compose").description("check compose files"), io);
  const apps = program.command("apps").description("list, show, change and control the apps of a device");
  addAppsList(apps, io);
  addAppsShow(apps, io);
  addAppsUpdate(apps, io);
  addAppsRemove(apps, io);
  addAppsLifecycle(apps, io);
  addAppsLogs(apps, io);
  addAppsStats(apps, io);
  const deployments = program.command("deployments").description("list, show, watch and cancel deployments");
  addDeploymentsList(deployments, io);
  addDeploymentsShow(deployments, io);
  addDeploymentsWatch(deployments, io);
  addDeploymentsCancel(deployments, io);
  const volumes = program.command("volumes").description("list and delete the volumes of a device");
  addVolumesList(volumes, io);
  addVolumesRemove(volumes, io);
}

/** SIMs, and the data that they and the agent use. */
function addSimCommands(program: Command, io: Io): void {
  const sims = program.command("sims").description("list, show and refresh SIMs, and their monthly allowances");
  addSimsList(sims, io);
  addSimsShow(sims, io);
  addSimsRefresh(sims, io);
  addSimsAllowance(sims, io);
  addSimsSettings(sims, io);
  addUsage(program, io);
  addDataUsage(program, io);
}

/** Keys and people of the account, and what was done. */
function addAccountCommands(program: Command, io: Io): void {
  const keys = program.command("keys").description("list, create and revoke the API keys of your account");
  addKeysList(keys, io);
  addKeysCreate(keys, io);
  addKeysRevoke(keys, io);
  const users = program.command("users").description("list, invite, change and remove the people of your account");
  addUsersList(users, io);
  addUsersInvite(users, io);
  addUsersRole(users, io);
  addUsersReset(users, io);
  addUsersRemove(users, io);
  addAudit(program, io);
  addEvents(program, io);
}

function addFleetCommands(program: Command, io: Io): void {
  const fleets = program.command("fleets").description("list, show, change and remove fleets: apps for many assets");
  addFleetsList(fleets, io);
  addFleetsShow(fleets, io);
  addFleetsMembers(fleets, io);
  addFleetsRevisions(fleets, io);
  addFleetsDiff(fleets, io);
  addFleetsApply(fleets, io);
  addFleetsReapply(fleets, io);
  addFleetsRemove(fleets, io);
  const rollouts = program
    .command("rollouts")
    .description("bring revisions of fleets to assets, and watch and steer it");
  addRolloutsList(rollouts, io);
  addRolloutsShow(rollouts, io);
  addRolloutsTargets(rollouts, io);
  addRolloutsEvents(rollouts, io);
  addRolloutsCreate(rollouts, io);
  addRolloutsRetry(rollouts, io);
  addRolloutsSummary(rollouts, io);
  addRolloutsCommands(rollouts, io);
  const variables = program.command("variables").description("list, set and remove the variables of an asset");
  addVariablesList(variables, io);
  addVariablesSet(variables, io);
  addVariablesUnset(variables, io);
}
