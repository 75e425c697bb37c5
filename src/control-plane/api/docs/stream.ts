import { type DeploymentEvent, deploymentEventSchema } from "../../../protocol/deployments/deployment-event.ts";
import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import type { ErrorBody } from "../errors.ts";
import { type DocumentedResponse, errors, messages } from "./responses.ts";

const EVENTS = deploymentEventSchema.meta()?.["examples"] as readonly DeploymentEvent[];

export const DEPLOYMENT_ID_HEADER = {
  "Deployment-Id": { type: "string", description: "Id of the deployment." },
} as const;

/** What all commands have in common. */
export const COMMANDS_DESCRIPTION =
  "The response to a command is a stream of events: `Running` any number of times, then `Success` or `Fail`. A request that does " +
  "not become a deployment gets one `Fail` event with an empty `deployment_id`, or with `Accept: application/json` an error in " +
  "JSON. With the header `Idempotency-Key`, a repeated request joins the stream of the first one. With `Prefer: " +
  "respond-async`, the response is the deployment as it begins, and `Location` its path. The deployment continues when the " +
  "client disconnects.";

/** The response to a command, which streams deployment events. */
export function commandStream(description: string): DocumentedResponse {
  return eventStream(
    `${description} Each non-empty line is \`data:\` and one event; a blank line every 15 s keeps the connection alive.`,
  );
}

/** The response of an endpoint that streams the events of a deployment once more. */
export function resumableStream(description: string): DocumentedResponse {
  return eventStream(
    `${description} Each event is a line of \`id:\` with its \`seq\`, and one of \`data:\`; a blank line every 15 s keeps the connection alive.`,
  );
}

function eventStream(description: string): DocumentedResponse {
  return {
    description,
    headers: DEPLOYMENT_ID_HEADER,
    content: { "text/event-stream": messages(deploymentEventSchema, EVENTS) },
  };
}

/** The error responses of an endpoint that, after authentication, responds with one `Fail` event, or with JSON if that is asked for. */
export function streamErrors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  const documented = Object.entries(errors(...codes, "Internal")).map(
    ([status, response]): [string, DocumentedResponse] => {
      if (status === "401") return [status, response];
      // One of them: the JSON has an example for each code.
      const [refusal] = Object.values(response.content["application/json"]?.examples ?? {});
      const body = messages(deploymentEventSchema, refusal ? [toRefusal(refusal.value as ErrorBody)] : []);
      return [status, { ...response, content: { "text/event-stream": body, ...response.content } }];
    },
  );
  return Object.fromEntries(documented);
}

function toRefusal({ code, message }: ErrorBody): DeploymentEvent {
  return { status: "Fail", message, deployment_id: "", seq: 1, timestamp: 1_795_178_868, step: "received", code };
}
