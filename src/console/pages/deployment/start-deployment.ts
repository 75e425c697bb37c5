import { type Arguments, type CallOptions, type OperationName, send } from "../../api/client.ts";
import type { DeploymentEvent } from "../../../protocol/api-types.ts";
import { readMessages } from "../../live/line-stream.ts";
import { ApiFailure } from "../../api/failure.ts";

/** Starts a deployment and returns its id, which the response has before the first event. It goes on without this request. */
export async function startDeployment<Name extends OperationName>(
  name: Name,
  options: CallOptions<Name>,
  idempotencyKey: string,
): Promise<string> {
  const response = await sendDeployment(name, options, idempotencyKey);
  const id = response.headers.get("deployment-id");
  await response.body?.cancel();
  if (id === null || id === "")
    throw new ApiFailure("BadResponse", "The response names no deployment.", response.status);
  return id;
}

/** Carries out a dry run and returns its last event. */
export async function dryRun<Name extends OperationName>(
  name: Name,
  options: CallOptions<Name>,
): Promise<DeploymentEvent> {
  const response = await sendDeployment(name, options, crypto.randomUUID());
  let last: DeploymentEvent | undefined;
  if (response.body) for await (const event of readMessages(response.body)) last = event as DeploymentEvent;
  if (!last || last.status === "Running") throw new ApiFailure("Unreachable", "The link to the service was lost.", 0);
  return last;
}

async function sendDeployment<Name extends OperationName>(
  name: Name,
  options: CallOptions<Name>,
  key: string,
): Promise<Response> {
  const headers = { ...options.headers, "idempotency-key": key };
  return await send(name, ...([{ ...options, headers }] as unknown as Arguments<Name>));
}
