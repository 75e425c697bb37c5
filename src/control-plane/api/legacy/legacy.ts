import type { FastifyReply } from "fastify";
import type { EdgeError } from "../../../protocol/errors.ts";
import { endpointRemoved, isLegacyRemoved, legacyHeaders, successorLink } from "../../core/legacy.ts";
import type { ApiContext } from "../context.ts";
import type { HeaderSchema } from "../docs/responses.ts";

/** The deprecated fields and endpoints, as they stand at the moment of a request. */
export interface Legacy {
  /** Whether they are still there. */
  isServed(): boolean;
  /** Marks an answer that holds something deprecated. `successor` is the path of what replaces it. */
  addDeprecationHeaders(reply: FastifyReply, successor: string): void;
  /** The answer of an endpoint that is gone. */
  toRemovedError(reply: FastifyReply, method: string, successor: string): EdgeError;
}

/** Reads the removal instant from the configuration, and the time of each request from the clock. */
export function createLegacy({ config, clock }: Pick<ApiContext, "config" | "clock">): Legacy {
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

/** The headers of `mark`, for the OpenAPI document. */
export const LEGACY_HEADERS: Readonly<Record<string, HeaderSchema>> = {
  Deprecation: {
    type: "string",
    description: "RFC 9745; only where the answer holds something deprecated, until its removal.",
  },
  Sunset: { type: "string", description: "RFC 8594: when that will be removed." },
  Link: { type: "string", description: 'What replaces it: `rel="successor-version"`.' },
};
