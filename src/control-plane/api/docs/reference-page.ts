import { fastify, type FastifyInstance } from "fastify";
import type { Api } from "../context.ts";
import { REQUEST_ID_HEADER } from "../request-id.ts";

// The page's script may connect to this server only.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PREFIX = "/docs";

/** Serves a browsable reference of the API at `/docs`, generated from `/openapi.json`, without authentication. */
export function serveReferencePage(api: Api): void {
  // Built with the first request: it contains 4 MB of script, and loading that takes a third of the service's start.
  let page: Promise<FastifyInstance> | undefined;
  for (const path of ["", "/", "/js/scalar.js"]) {
    api.get(`${PREFIX}${path}`, { schema: { hide: true } }, async (request, reply) => {
      const server = await (page ??= referencePage());
      reply.hijack();
      // The page's own server replies, without the hooks of this one.
      reply.raw.setHeader(REQUEST_ID_HEADER, request.id);
      server.routing(request.raw, reply.raw);
    });
  }
}

async function referencePage(): Promise<FastifyInstance> {
  const { default: apiReference } = await import("@scalar/fastify-api-reference");
  const server = fastify({ logger: false });
  await server.register(apiReference, {
    routePrefix: PREFIX,
    configuration: {
      url: "/openapi.json",
      pageTitle: "edge-control API",
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: "never",
      mcp: { disabled: true },
      agent: { disabled: true },
    },
    hooks: {
      onRequest: (_request, reply, done) => {
        void reply.headers({
          "content-security-policy": CONTENT_SECURITY_POLICY,
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          // The script is large and changes only with a new version.
          "cache-control": "public, max-age=3600",
        });
        done();
      },
    },
  });
  await server.ready();
  return server;
}
