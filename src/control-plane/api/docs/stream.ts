import { type DeploymentEvent, deploymentEventSchema } from "../../../protocol/deployment-event.ts";
import type { ErrorCode } from "../../../protocol/errors.ts";
import { formatEvent } from "../event-stream.ts";
import type { ErrorBody } from "../errors.ts";
import { type DocumentedResponse, errors } from "./responses.ts";

const EVENTS = deploymentEventSchema.meta()?.["examples"] as readonly DeploymentEvent[];

/** The response of an endpoint that streams deployment events. */
export function eventStream(description: string): DocumentedResponse {
  return {
    description: `${description} Each non-empty line is \`data:\` and one event; a blank line every 15 s keeps the connection alive.`,
    headers: { "Deployment-Id": { type: "string", description: "Id of the deployment." } },
    content: { "text/event-stream": { schema: deploymentEventSchema, example: toStream(EVENTS) } },
  };
}

/** The error responses of an endpoint that, after authentication, responds with one `Fail` event. */
export function streamErrors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  const documented = Object.entries(errors(...codes)).map(([status, response]): [string, DocumentedResponse] => {
    if (status === "401") return [status, response];
    const example = toStream([refusal(response)]);
    return [status, { ...response, content: { "text/event-stream": { schema: deploymentEventSchema, example } } }];
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
