import { type DeploymentEvent, deploymentEventSchema } from "../../../protocol/deployment-event.ts";
import type { ErrorCode } from "../../../protocol/errors.ts";
import { formatEvent } from "../event-stream.ts";
import type { ErrorBody } from "../errors.ts";
import { type DocumentedResponse, errors } from "./responses.ts";

const EVENTS = deploymentEventSchema.meta()?.["examples"] as readonly DeploymentEvent[];

export const DEPLOYMENT_ID_HEADER = {
  "Deployment-Id": { type: "string", description: "Id of the deployment." },
} as const;

/** The response to a command, which streams deployment events. */
export function commandStream(description: string): DocumentedResponse {
  return eventStream(
    `${description} Each non-empty line is \`data:\` and one event; a blank line every 15 s keeps the connection alive.`,
    toStream(EVENTS),
  );
}

/** The response of an endpoint that streams the events of a deployment once more. */
export function resumableStream(description: string): DocumentedResponse {
  return eventStream(
    `${description} Each event is a line of \`id:\` with its \`seq\`, and one of \`data:\`; a blank line every 15 s keeps the connection alive.`,
    EVENTS.map((event) => formatEvent(JSON.stringify(event), event.seq)).join(""),
  );
}

function eventStream(description: string, example: string): DocumentedResponse {
  return {
    description,
    headers: DEPLOYMENT_ID_HEADER,
    content: { "text/event-stream": { schema: deploymentEventSchema, example } },
  };
}

/** The error responses of an endpoint that, after authentication, responds with one `Fail` event, or with JSON if that is asked for. */
export function streamErrors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  const documented = Object.entries(errors(...codes)).map(([status, response]): [string, DocumentedResponse] => {
    if (status === "401") return [status, response];
    const example = toStream([refusal(response)]);
    const content = { "text/event-stream": { schema: deploymentEventSchema, example }, ...response.content };
    return [status, { ...response, content }];
  });
  return Object.fromEntries(documented);
}

/** The event with the first error of an error response. */
function refusal({ content }: DocumentedResponse): DeploymentEvent {
  const error = (content["application/json"]?.schema.meta()?.["examples"] as readonly ErrorBody[] | undefined)?.[0];
  const origin = { deployment_id: "", seq: 1, timestamp: 1_795_178_868, step: "received" as const };
  return { status: "Fail", message: error?.message ?? "", ...origin, ...(error && { code: error.code }) };
}

function toStream(events: readonly DeploymentEvent[]): string {
  return events.map((event) => formatEvent(JSON.stringify(event))).join("");
}
