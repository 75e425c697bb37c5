import swagger, { type SwaggerTransform } from "@fastify/swagger";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { VERSION } from "../../../lib/version.ts";
import type { Api } from "../context.ts";
import { pruneComponents } from "./prune-components.ts";
import type { DocumentedResponse } from "./responses.ts";

const DESCRIPTION = `Assets with their SIMs, SIM usage, and deployment of container apps to edge devices.

Timestamps are integer Unix seconds, UTC. \`asset_id\` is any identifier of the asset: serial number, SIM SID, ICCID or
UUID; UUIDs are matched without regard to case, the others exactly. Every error has a \`code\` and a \`message\`.`;

/**
 * Generates an OpenAPI 3.1 document from the validation schemas of the routes registered afterwards, and serves it at
 * `/openapi.json` without authentication.
 */
export async function serveOpenApi(api: Api): Promise<void> {
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: { title: "edge-control", version: VERSION, description: DESCRIPTION },
      servers: [{ url: "/", description: "This server." }],
      tags: [
        { name: "Assets", description: "Connected edge devices." },
        { name: "Usage", description: "Usage of SIMs." },
        { name: "Apps", description: "Container apps on devices: deploy, update, inspect and remove." },
        { name: "Deployments", description: "Requested changes of apps, with their events and outcomes." },
        { name: "Devices", description: "State and data usage of devices." },
        { name: "Legacy", description: "Deprecated; removed at a configured time." },
        { name: "Health", description: "For load balancers and supervisors; no key needed." },
      ],
      components: {
        securitySchemes: {
          apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "API key of the account." },
        },
      },
      security: [{ apiKey: [] }],
    },
    transform,
    transformObject: (document) => pruneComponents(jsonSchemaTransformObject(document as never) as object),
  });
  let text: string | undefined;
  api.get("/openapi.json", { schema: { hide: true } }, (_request, reply) => {
    // The document does not change while the server runs.
    text ??= JSON.stringify(api.swagger());
    return reply.type("application/json; charset=utf-8").send(text);
  });
}

/** Adds the headers of responses, which the library's transform omits. */
const transform: SwaggerTransform = (route) => {
  const transformed = jsonSchemaTransform(route);
  const documented = route.schema?.response as Record<string, Partial<DocumentedResponse>> | undefined;
  const responses = (transformed.schema as { response?: Record<string, object> } | undefined)?.response ?? {};
  for (const [status, response] of Object.entries(responses)) {
    const headers = documented?.[status]?.headers;
    if (headers) Object.assign(response, { headers });
  }
  return transformed;
};
