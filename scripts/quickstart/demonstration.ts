import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { build } from "../bundling/build.ts";
import { startAgent, stateDirectory, waitUntilOnline } from "../system/agent.ts";
import { type AppRequest, deploy, deployUrl, type Target } from "../system/client.ts";
import { startControlPlane } from "../system/control-plane.ts";
import { freeHostPort } from "../system/ports.ts";
import { removeApps } from "../system/remove-apps.ts";
import { APP_PORT, buildAppImage } from "./app-image.ts";
import { heading, printEvent, step } from "./terminal.ts";

const SERIAL_NUMBER = "GW-0001";
const PREFERRED_PORT = 30_080;

/**
 * Starts the whole system on this machine, deploys an app through the public API and shows each step. Everything
 * created is registered with `owner` for disposal in reverse order.
 */
export async function demonstrate(owner: AsyncDisposableStack, signal: AbortSignal): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "edge-quickstart-"));
  owner.defer(() => rm(folder, { recursive: true, force: true }));
  // Unique names: an earlier demonstration may not have cleaned up.
  const id = folder.slice(-6).toLowerCase();
  const image = `edge-quickstart-${id}:1`;

  await step(
    signal,
    "Build the executables",
    () => build({ onlyIfChanged: true }),
    () => "dist/",
  );
  owner.defer(() => removeImage(image));
  await step(
    signal,
    "Build an app's image",
    () => buildAppImage(image),
    () => image,
  );

  const control = await step(
    signal,
    "Start edge-control",
    async () => owner.use(await startControlPlane(folder)),
    ({ url }) => url,
  );
  const { accountId, apiKey, deviceToken } = await step(
    signal,
    "Register an account, a key, an asset",
    () => control.register("quickstart", SERIAL_NUMBER),
    ({ serialNumber }) => serialNumber,
  );
  const target: Target = { url: control.url, apiKey, asset: SERIAL_NUMBER };
  owner.defer(() => removeApps(stateDirectory(folder)));
  await step(
    signal,
    "Start edge-agent",
    async () => {
      const settings = { controlPlaneUrl: control.agentUrl, deviceToken };
      const agent = owner.use(await startAgent(folder, settings));
      return await waitUntilOnline(agent);
    },
    () => "online",
  );

  const hostPort = await freeHostPort(PREFERRED_PORT);
  const app = { name: `hello-${id}`, image, ports: [{ host_port: hostPort, target_port: APP_PORT }] };
  await showDeployment(target, app, signal);
  await step(
    signal,
    "Fetch the app's page",
    () => fetchTitle(`http://127.0.0.1:${hostPort}/`),
    (title) => `“${title}”`,
  );
  const nextPort = await freeHostPort(hostPort + 1);
  const setUpLink = await control.setUpLink(accountId, `/assets/${SERIAL_NUMBER}`);
  printHints({ target, image, appPort: APP_PORT, hostPort, nextPort, logs: folder, setUpLink });
}

async function showDeployment(target: Target, app: AppRequest, signal: AbortSignal): Promise<void> {
  heading(`Deploy ${app.name} with POST /v1/assets/${target.asset}/edge/apps`);
  let status: string = "Fail";
  for await (const event of deploy(target, app, signal)) {
    printEvent(event);
    status = event.status;
  }
  console.log();
  if (status !== "Success") throw new Error("the deployment failed");
}

async function fetchTitle(url: string): Promise<string> {
  const text = await (await fetch(url)).text();
  return /<title>(.*)<\/title>/.exec(text)?.[1] ?? text;
}

interface HintOptions {
  readonly target: Target;
  readonly image: string;
  readonly appPort: number;
  readonly hostPort: number;
  /** Another free port. */
  readonly nextPort: number;
  readonly logs: string;
  readonly setUpLink: string;
}

/** Prints what to try next. Showing the key and the link is safe: they are deleted with this demonstration. */
function printHints({ target, image, appPort, hostPort, nextPort, logs, setUpLink }: HintOptions): void {
  const second = { name: "second", image, ports: [{ host_port: nextPort, target_port: appPort }] };
  heading("Deploy another app, from another terminal:");
  console.log(`
curl -N ${deployUrl(target)} \\
  -H 'X-API-Key: ${target.apiKey}' -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(second)}'`);
  heading("Or with the operator's command:");
  console.log(`
export EDGECTL_URL=${target.url} EDGECTL_API_KEY=${target.apiKey}
dist/edgectl deploy ${target.asset} --name second --image ${image} --port ${nextPort}:${appPort}`);
  heading("Look around:");
  console.log(`
  the app        http://127.0.0.1:${hostPort}/
  API reference  ${target.url}/docs
  logs           ${logs}
  console        ${target.url}/

Open the console: choose an address and a password, and see the app live. The link works once, for 24 hours.

  ${setUpLink}

Ctrl-C stops everything and removes it.`);
}

/** Removes an image if it exists. */
async function removeImage(reference: string): Promise<void> {
  const docker = new Docker();
  const images = await docker.listImages({ filters: { reference: [reference] } });
  if (images.length > 0) await docker.getImage(reference).remove();
}
