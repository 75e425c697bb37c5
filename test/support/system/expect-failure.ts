import { expect } from "vitest";
import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import { ERRORS, type ErrorCode } from "../../../src/protocol/errors/errors.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../../src/protocol/limits.ts";
import { isPortFree } from "../free-port.ts";
import type { AppRequest, Deployed, System } from "../system.ts";
import { waitFor } from "../wait-for.ts";

/** Deploys an app that must fail with this code. Checks that it leaves nothing behind and returns its `Fail` event. */
export async function expectFailure(system: System, app: AppRequest, code: ErrorCode): Promise<DeploymentEvent> {
  return expectFailed(system, await system.deploy(app), app, code);
}

/** Checks that the deployment failed with this code and leaves nothing behind. Returns its `Fail` event. */
export async function expectFailed(
  system: System,
  { status, final, deploymentId }: Deployed,
  app: AppRequest,
  code: ErrorCode,
): Promise<DeploymentEvent> {
  expect({ status, final }).toMatchObject({ status: 200, final: { status: "Fail", code } });
  expect(final.message).not.toBe("");
  if ("fixedMessage" in ERRORS[code]) expect(final.message).toBe(ERRORS[code].message);
  expect(await system.record(deploymentId)).toMatchObject({ status: "Fail", code, last_seq: final.seq });
  // An engine that is down cannot be checked, and cannot have got a container either.
  if (code !== "EngineUnavailable") expect(await system.containersOf(deploymentId)).toEqual([]);
  // A port held by another process stays in use; the deployment's own ports must be free again.
  if (code !== "ErrorPortInUse") await expectFree(app);
  return final;
}

async function expectFree({ ports = [] }: AppRequest): Promise<void> {
  const inRange = ports.map((port) => port.host_port).filter((port) => port >= MIN_HOST_PORT && port <= MAX_HOST_PORT);
  for (const port of inRange) await waitFor(`port ${port} to be free`, () => isPortFree(port));
}
