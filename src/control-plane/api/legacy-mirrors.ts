import type { FastifyReply } from "fastify";
import type { EdgeError } from "../../protocol/errors/errors.ts";
import { endpointRemoved, isLegacyRemoved, legacyHeaders, successorLink } from "../core/legacy.ts";
import type { ApiBase } from "./context.ts";
import type { HeaderSchema } from "./docs/responses.ts";

/** The state of the deprecated fields and endpoints at the time of a request. */
export interface Legacy {
  /** Whether they are still served. */
  isServed(): boolean;
  /** Adds the deprecation headers to a response. `successor` is the path of the replacement. */
  addDeprecationHeaders(reply: FastifyReply, successor: string): void;
  /** The error of a removed endpoint. Adds the `Link` to its successor. */
  toRemovedError(reply: FastifyReply, method: string, successor: string): EdgeError;
}

/** Takes the removal time from the configuration. */
export function createLegacy({ config, clock }: Pick<ApiBase, "config" | "clock">): Legacy {
  const removalMs = Date.parse(config.legacy_removal_at);
  return {
    isServed: () => !isLegacyRemoved(clock.now(), removalMs),
    addDeprecationHeaders(reply, successor) {
      void reply.headers(legacyHeaders(removalMs, successor));
    },
    toRemovedError(reply, method, successor) {
      void reply.header("link", successorLink(successor));
      return endpointRemoved(removalMs, method, successor);
    },
  };
}

/** The headers of `addDeprecationHeaders`, for the OpenAPI document. */
export const LEGACY_HEADERS: Readonly<Record<string, HeaderSchema>> = {
  Deprecation: {
    type: "string",
    description: "RFC 9745; only on responses that contain something deprecated, until its removal.",
  },
  Sunset: { type: "string", description: "RFC 8594: time of the removal." },
  Link: { type: "string", description: 'The replacement: `rel="successor-version"`.' },
};
