import { join } from "node:path";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { type AgentSettings, startAgent, stateDirectory, waitUntilOnline } from "../../scripts/system/agent.ts";
import { type AppRequest, type Target, deploy } from "../../scripts/system/client.ts";
import { type ControlPlane, type Registration, startControlPlane } from "../../scripts/system/control-plane.ts";
import type { RunningProgram } from "../../scripts/system/program.ts";
import { removeApps } from "../../scripts/system/remove-apps.ts";
import { tempDir } from "../support/temp-dir.ts";

/** The built edge-control and edge-agent, connected to each other. */
export interface System extends AsyncDisposable {
  readonly folder: string;
  readonly control: ControlPlane;
  readonly agent: RunningProgram;
  readonly registration: Registration;
  readonly target: Target;
}

interface AgentStart extends Pick<AgentSettings, "wrapperCommand" | "environment"> {
  /** Where its state is, and all else that it writes. Default: beside the control plane's. */
  readonly deviceFolder?: string;
}

/** Starts both processes. `agentConfig` is added to the agent's configuration. @param how the agent is started */
export async function startSystem(
  agentConfig: Readonly<Record<string, unknown>> & { readonly engine?: { readonly socket: string } } = {},
  { deviceFolder, ...how }: AgentStart = {},
): Promise<System> {
  await using owner = new AsyncDisposableStack();
  const folder = owner.use(await tempDir()).path;
  const control = owner.use(await startControlPlane(folder));
  const registration = await control.register("bench", "BENCH-1");
  const { deviceToken } = registration;
  const settings = { controlPlaneUrl: control.agentUrl, deviceToken, config: agentConfig, ...how };
  const device = deviceFolder ?? join(folder, "device");
  owner.defer(() => removeApps(stateDirectory(device), agentConfig.engine?.socket));
  const agent = owner.use(await startAgent(device, settings));
  await waitUntilOnline(agent);
  const target = { url: control.url, apiKey: registration.apiKey, asset: registration.serialNumber };
  const parts = owner.move();
  return { folder, control, agent, registration, target, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

/** Deploys an app and waits for the end of the stream. Rejects unless it succeeds. */
export async function deployed(target: Target, app: AppRequest): Promise<void> {
  await succeeded(deploy(target, app));
}

/** Follows a deployment to its end. Rejects unless it succeeds. @param onEvent called with each event */
export async function succeeded(
  events: AsyncIterable<DeploymentEvent>,
  onEvent: (event: DeploymentEvent) => void = () => {},
): Promise<void> {
  let last: DeploymentEvent | undefined;
  for await (const event of events) {
    onEvent(event);
    last = event;
  }
  if (last?.status !== "Success") throw new Error(`the deployment failed: ${last?.message}`);
}
