import {
  DEPLOYMENT_EVENT_EXAMPLES,
  type DeploymentEvent,
  deploymentEventSchema,
} from "../../../protocol/deployments/deployment-event.ts";
import { type ErrorCode, errorEntry } from "../../../protocol/errors/errors.ts";
import { type DocumentedResponse, errors, generalErrors, messages } from "./responses.ts";

export const DEPLOYMENT_ID_HEADER = {
  "Deployment-Id": { type: "string", description: "Id of the deployment." },
} as const;

/** What all commands have in common. */
export const COMMANDS_DESCRIPTION =
  "The response to a command is a stream of events: `Running` any number of times, then `Success` or `Fail`. " +
  "A request that does not become a deployment gets one `Fail` event with an empty `deployment_id`, or with " +
  "`Accept: application/json` an error in JSON. The deployment continues when the client disconnects.";

/** The response to a command, which streams deployment events. */
export function commandStream(description: string): DocumentedResponse {
  return eventStream(`${description} Each non-empty line is \`data:\` and one event.`);
}

/** The response of an endpoint that streams the events of a deployment once more. */
export function resumableStream(description: string): DocumentedResponse {
  return eventStream(`${description} Each event is a line of \`id:\` with its \`seq\`, and one of \`data:\`.`);
}

function eventStream(description: string): DocumentedResponse {
  return {
    description,
    headers: DEPLOYMENT_ID_HEADER,
    content: { "text/event-stream": messages(deploymentEventSchema, DEPLOYMENT_EVENT_EXAMPLES) },
  };
}

/** The error responses of an endpoint that responds with one `Fail` event, or with JSON if that is asked for. */
export function streamErrors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  const documented = Object.entries(errors(...codes));
  return Object.fromEntries(documented.map(([status, response]) => [status, asStream(response, [])]));
}

const REFUSAL: DeploymentEvent = {
  status: "Fail",
  message: errorEntry("InvalidRequest").message,
  deployment_id: "",
  seq: 1,
  timestamp: 1_795_178_868,
  step: "received",
  code: "InvalidRequest",
};

/** The response `default` of such an endpoint. Only a request without a valid key is refused with JSON in any case; a repeated one joins. */
export const GENERAL_STREAM_ERRORS = asStream(
  {
    ...generalErrors("IdempotencyInProgress", "IdempotencyResponseLost"),
    description: "As `Error`, but as an event where JSON is not asked for and the key is valid.",
  },
  [REFUSAL],
);

/** @param examples of one refusal, in one place: the JSON has an example for each code */
function asStream(response: DocumentedResponse, examples: readonly DeploymentEvent[]): DocumentedResponse {
  const body = examples.length > 0 ? messages(deploymentEventSchema, examples) : { schema: deploymentEventSchema };
  return { ...response, content: { "text/event-stream": body, ...response.content } };
}
