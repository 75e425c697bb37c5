import swagger, { type SwaggerTransform } from "@fastify/swagger";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { ZodType } from "zod";
import { VERSION } from "../../../lib/version.ts";
import { type Requirement, requirementOf } from "../../core/people/endpoint-permissions.ts";
import type { Api } from "../context.ts";
import { toHeaderName } from "../headers.ts";
import { COMMANDS_DESCRIPTION, GENERAL_STREAM_ERRORS } from "./stream.ts";
import { streamSamples } from "./curl-sample.ts";
import { nameCommonFields } from "./common-fields.ts";
import { composeSchemas } from "./compose-schemas.ts";
import { openResponses } from "./open-responses.ts";
import { WEBHOOKS } from "./webhooks.ts";
import { pruneComponents } from "./prune-components.ts";
import { type DocumentedResponse, ENTITY_TAG_HEADERS, generalErrors, type HeaderSchema } from "./responses.ts";
import { shareComponents } from "./share-components.ts";
import { tidySchemas } from "./tidy-schemas.ts";
import { shareUnionFields } from "./union-fields.ts";

const DESCRIPTION = `Assets with their SIMs, SIM usage, and deployment of container apps to edge devices.

Timestamps are integer Unix seconds, UTC. \`asset_id\` is any identifier of the asset: serial number, SIM SID, ICCID or
UUID; UUIDs are matched without regard to case, the others exactly. Every error has a \`code\` and a \`message\`.

What an operation does not know is refused by name: query parameters, body fields, a body where there is none, and, but for GET,
the headers \`If-Match\`, \`If-None-Match\`, \`If-Unmodified-Since\` and \`Idempotency-Key\` where they are no parameter.

A response with JSON has an \`ETag\`: with it in \`If-None-Match\` a read has no body if nothing differs, and with it in \`If-Match\`
nothing is changed that another client has changed since. A change with an \`Idempotency-Key\` is carried out once, however often it
is sent.

An operation lists the refusals of its own; those of every operation are in its response \`default\`.

Lists are paged with \`limit\` and \`cursor\`, until \`next_cursor\` is null. A page may have fewer entries than \`limit\`, or none, and a
\`next_cursor\`. Streams have an empty line every 15 seconds.

Every response has the id of the request, with which the service logs it, in \`X-Request-Id\`: the one that the client sent, if it is
of 1 to 128 letters, digits, \`.\`, \`_\`, \`:\`, \`=\`, \`/\`, \`+\` and \`-\`, or a new one.

Within v1, operations, fields of responses, values of \`x-extensible-enum\`, error codes and types of messages in streams may be
added, and fields and parameters of requests that may be left out. Clients ignore what they do not know. What is to be removed is \`deprecated\`
here before, and its responses have \`Deprecation\` and \`Sunset\`.

\`x-permission\` of an operation names the permission that the role of the API key or of the person must have; \`self\` stands
for any of them, \`session\` for a person who is signed in, \`public\` for nothing.`;

/**
 * Generates an OpenAPI 3.1 document from the validation schemas of the routes registered afterwards, and serves it at
 * `/openapi.json` without authentication.
 */
export async function serveOpenApi(api: Api): Promise<void> {
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "edge-control",
        version: VERSION,
        description: DESCRIPTION,
        contact: { name: "The operator of this service" },
        license: { name: "No licence is granted", identifier: "LicenseRef-UNLICENSED" },
      },
      servers: [{ url: "/", description: "This server." }],
      tags: [
        { name: "Assets", description: "Connected edge devices." },
        { name: "History", description: "How assets were." },
        { name: "Alerts", description: "What is the matter." },
        { name: "Usage", description: "Usage of SIMs." },
        {
          name: "Apps",
          description: `Container apps on devices, and the agent that runs them: deploy, update, inspect and remove. ${COMMANDS_DESCRIPTION}`,
        },
        { name: "Deployments", description: "Requested changes of apps, with their events and outcomes." },
        { name: "Devices", description: "State and data usage of devices." },
        { name: "Fleets", description: "Sets of apps that are brought to many devices, and their revisions." },
        { name: "Rollouts", description: "How revisions come to the members of a fleet, wave by wave." },
        { name: "People", description: "The people of an account, and how they sign in." },
        { name: "API Keys", description: "The API keys of an account." },
        { name: "Audit", description: "Who did what." },
        { name: "Legacy", description: "Deprecated; removed at a configured time." },
        { name: "Health", description: "For load balancers and supervisors; no key needed." },
      ],
      components: {
        securitySchemes: {
          apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "API key of the account." },
          bearer: {
            type: "http",
            scheme: "bearer",
            description: "The same key, for clients that send `Authorization`.",
          },
          session: {
            type: "apiKey",
            in: "cookie",
            name: "__Host-edge_session",
            description:
              "Session of a person who is signed in, for browsers. Over plain HTTP on loopback the cookie is called " +
              "`edge_session`.",
          },
        },
      },
      webhooks: WEBHOOKS,
      security: [{ apiKey: [] }, { bearer: [] }, { session: [] }],
    },
    transform,
    transformObject: (document) =>
      [
        openResponses,
        pruneComponents,
        tidySchemas,
        nameCommonFields,
        composeSchemas,
        shareUnionFields,
        shareComponents,
      ].reduce((made, step) => step(made), jsonSchemaTransformObject(document as never) as object),
  });
  let text: string | undefined;
  api.get("/openapi.json", { schema: { hide: true } }, (_request, reply) => {
    // The document does not change while the server runs.
    text ??= JSON.stringify(api.swagger());
    return reply.type("application/json; charset=utf-8").send(text);
  });
}

/** Response headers of every response. They are listed for general errors only: elsewhere they would be bulk. */
const EVERY_RESPONSE = {
  "X-Request-Id": { type: "string", description: "Id of the request, which the service logs." },
};

/** Response headers of every response with such a status, which has no body. */
const BODILESS: Readonly<Record<string, Readonly<Record<string, HeaderSchema>>>> = {
  303: { Location: { type: "string", description: "Where the browser goes on." } },
  304: ENTITY_TAG_HEADERS,
};

/** Adds what the library's transform omits: headers and examples of responses. Adds samples for streams. */
const transform: SwaggerTransform = (route) => {
  const transformed = jsonSchemaTransform(route);
  nameHeaders(transformed.schema);
  const documented = (route.schema?.response ?? {}) as Readonly<Record<string, Partial<DocumentedResponse>>>;
  const responses = (transformed.schema as { response?: Record<string, TransformedResponse> } | undefined)?.response;
  for (const [status, response] of Object.entries(responses ?? {})) {
    const { headers, content = {} } = documented[status] ?? {};
    const ofStatus = BODILESS[status];
    if (headers ?? ofStatus) Object.assign(response, { headers: { ...headers, ...ofStatus } });
    for (const [type, { examples }] of Object.entries(content)) {
      if (examples) Object.assign(response.content?.[type] ?? {}, { examples });
    }
  }
  if (responses) responses["default"] = isCommand(documented) ? STREAM_DEFAULT : JSON_DEFAULT;
  const samples = streamSamples({
    method: String(route.route.method),
    url: route.url,
    mediaTypes: Object.keys(documented["200"]?.content ?? {}),
    body: exampleOf(route.schema?.body),
  });
  if (samples) Object.assign(transformed.schema as object, { "x-codeSamples": samples });
  const requirement = requirementOf(String(route.route.method), route.url);
  if (requirement !== undefined && transformed.schema)
    Object.assign(transformed.schema, { "x-permission": requirement, ...securityOf(requirement) });
  return transformed;
};

/** Whether refusals of the operation are streams, unless JSON is asked for. */
function isCommand(responses: Readonly<Record<string, Partial<DocumentedResponse>>>): boolean {
  return Object.entries(responses).some(
    ([status, { content = {} }]) => Number(status) >= 400 && "text/event-stream" in content,
  );
}

const JSON_DEFAULT = defaultResponse(generalErrors());
const STREAM_DEFAULT = defaultResponse(GENERAL_STREAM_ERRORS);

/** The library transforms schemas of responses with a status only. */
function defaultResponse({ content, headers, ...response }: DocumentedResponse): object {
  const bodies = Object.entries(content).map(([type, { schema, ...body }]) => [
    type,
    { ...body, schema: { $ref: `#/components/schemas/${String(schema.meta()?.id)}` } },
  ]);
  return { ...response, headers: { ...headers, ...EVERY_RESPONSE }, content: Object.fromEntries(bodies) };
}

/** Writes the names of header parameters as people and other documents do. */
function nameHeaders(schema: unknown): void {
  const { headers } = schema as { readonly headers?: { properties: Readonly<Record<string, unknown>> } };
  if (!headers) return;
  const named = Object.entries(headers.properties).map(([name, header]) => [toHeaderName(name), header] as const);
  headers.properties = Object.fromEntries(named);
}

/** Who may call the endpoint, where that is not any principal. */
function securityOf(requirement: Requirement): { readonly security?: readonly object[] } {
  if (requirement === "public") return { security: [] };
  return requirement === "session" ? { security: [{ session: [] }] } : {};
}

interface TransformedResponse {
  readonly content?: Readonly<Record<string, object>>;
}

function exampleOf(schema: unknown): unknown {
  const { examples } = ((schema as ZodType | undefined)?.meta() ?? {}) as { examples?: readonly unknown[] };
  return examples?.[0];
}
