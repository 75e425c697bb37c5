import { deploymentEventSchema } from "../../../protocol/deployment-event.ts";
import type { ErrorCode } from "../../../protocol/errors.ts";
import { type DocumentedResponse, errors } from "./responses.ts";

/** The response of an endpoint that streams deployment events. */
export function eventStream(description: string): DocumentedResponse {
  return {
    description: `${description} Each non-empty line is \`data:\` and one event; a blank line every 15 s keeps the connection alive.`,
    headers: { "Deployment-Id": { type: "string", description: "Id of the deployment." } },
    content: { "text/event-stream": { schema: deploymentEventSchema } },
  };
}

/** The error responses of an endpoint that, after authentication, responds with one `Fail` event. */
export function streamErrors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  const documented = Object.entries(errors(...codes)).map(([status, response]): [string, DocumentedResponse] => {
    if (status === "401") return [status, response];
    return [status, { ...response, content: { "text/event-stream": { schema: deploymentEventSchema } } }];
  });
  return Object.fromEntries(documented);
}
