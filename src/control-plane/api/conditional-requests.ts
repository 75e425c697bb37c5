import { hash as digest } from "node:crypto";
import type { FastifyReply, FastifyRequest, onSendHookHandler, preSerializationHookHandler } from "fastify";
import { z } from "zod";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Precondition } from "../store/precondition.ts";
import type { Api } from "./context.ts";
import { type DocumentedResponse, ENTITY_TAG_HEADERS, withHeaders } from "./docs/responses.ts";

/*
 * Entity tags. That of a resource which clients change has two parts, `"state.representation"`: a hash of what changes of clients
 * change, which `If-Match` compares, and one of all that is shown, with what changes by itself. A read of anything else has the
 * second part alone. `If-None-Match` compares whole tags. What only follows the clock is not hashed, and the tag is then weak.
 */

const TAG = /^(?:W\/)?"([\x21\x23-\x7e]*)"$/;
const TAGS = /^(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*)$/;
const MALFORMED = 'must be `*`, or entity tags as an `ETag` header has them, such as "Zm9vYmFy.YmF6cXV4"';
/** 96 bits: tags of different states never meet by accident. */
const HASH_LENGTH = 16;

/** The headers of an operation that changes a resource which has an entity tag. */
export const ifMatchHeaders = z.looseObject({
  "if-match": z
    .string()
    .regex(TAGS, MALFORMED)
    .optional()
    .meta({
      description:
        "`ETag` of the resource as the client knows it: nothing is changed if another client has changed it meanwhile, and the " +
        "response is 412 with the resource as it is now. What changes by itself does not count.",
      examples: ['"Q2hhbmdlZA8h0xU1.U2hvd25fbm93Xzk3"'],
    }),
});

const IF_NONE_MATCH = z
  .string()
  .regex(TAGS, MALFORMED)
  .optional()
  .meta({ description: "`ETag` of what the client has: the response is 304 without a body if nothing differs." });

declare module "fastify" {
  interface FastifyReply {
    /** Hash of what changes of clients change; absent if clients do not change the resource. */
    resourceState: string | undefined;
    /** Of the body of a tagged response. */
    representation: Representation | undefined;
  }
}

/** A resource as it is now. */
export interface Resource<Body> {
  /** As of `stateOf`. */
  readonly state: string;
  readonly body: Body;
}

/** Returns the first part of an entity tag. @param facts what changes of clients change, JSON-safe, in a constant order */
export function stateOf(...facts: readonly unknown[]): string {
  return hash(JSON.stringify(facts));
}

interface Representation {
  readonly hash: string;
  /** Whether something that is shown was not hashed. */
  readonly isWeak: boolean;
}

/**
 * Hashes what a response shows, without what only follows the clock: `last_seen` of a device that is connected is the present
 * time, `age_s` counts seconds from a moment that changes only with other fields, and `finalized_until` is as long ago as usage takes
 * to be final, until all of the range is. With them a read would differ each second.
 */
function representationOf(body: unknown): Representation {
  let isWeak = false;
  const { end_time: end } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const text = JSON.stringify(body, function (this: unknown, name: string, value: unknown) {
    if (name === "finalized_until" && value !== end) {
      isWeak = true;
      return null;
    }
    if (name !== "last_seen" && name !== "age_s") return value;
    const { connected, reachable } = this as Readonly<Record<string, unknown>>;
    if (name === "last_seen" ? connected !== true && reachable !== true : typeof value !== "number") return value;
    isWeak = true;
    // That the data of a connected device ages, since the device holds back changes, is seen.
    return name === "age_s" && reachable === true && value === 0;
  });
  return { hash: hash(text), isWeak };
}

function hash(text: string): string {
  return digest("sha256", text, "base64url").slice(0, HASH_LENGTH);
}

/** Responds with a resource and its entity tag. */
export function sendResource<Body>(reply: FastifyReply, { state, body }: Resource<Body>): Body {
  reply.resourceState = state;
  return body;
}

/**
 * Returns the precondition of the request's `If-Match`, for a store; `undefined` without one.
 *
 * @param stateOf the first part of the record's entity tag; `undefined` if the resource is not there
 */
export function preconditionOf<T>(
  { headers }: FastifyRequest,
  stateOf: (record: T) => string | undefined,
): Precondition<T> | undefined {
  return preconditionOfTags(headers["if-match"], stateOf);
}

/** @param sent entity tags, as of `If-Match` */
export function preconditionOfTags<T>(
  sent: string | undefined,
  stateOf: (record: T) => string | undefined,
): Precondition<T> | undefined {
  if (sent === undefined) return undefined;
  if (sent.trim() === "*") {
    return (record) => {
      if (stateOf(record) === undefined) throw new PreconditionError();
    };
  }
  // A proxy that compresses makes tags weak, which says nothing about the state.
  const states = new Set(sent.split(",").map((tag) => TAG.exec(tag.trim())?.[1]?.split(".")[0]));
  return (record) => {
    const state = stateOf(record);
    if (state === undefined || !states.has(state)) throw new PreconditionError();
  };
}

class PreconditionError extends Error {}

/** Whether it was thrown by a precondition. */
export function isPreconditionError(error: unknown): boolean {
  return error instanceof PreconditionError;
}

/** Whether a text is what `If-Match` may be. */
export function isTagList(text: string): boolean {
  return TAGS.test(text);
}

/** Returns the whole entity tag, as responses with the resource have it. */
export function tagOf({ state, body }: Resource<unknown>): string {
  return formatTag(state, representationOf(body));
}

function formatTag(state: string | undefined, { hash: shown, isWeak }: Representation): string {
  return `${isWeak ? "W/" : ""}"${state === undefined ? shown : `${state}.${shown}`}"`;
}

/**
 * Carries out a change with a precondition. Error: `PreconditionFailed` with the resource as it is now, and those of the calls.
 *
 * @param present reads the resource; `undefined` if it is not there
 */
export async function changeResource<T>(
  reply: FastifyReply,
  present: () => Promise<Resource<unknown> | undefined>,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!isPreconditionError(error)) throw error;
    const resource = await present();
    if (resource) void reply.header("ETag", tagOf(resource));
    throw new EdgeError("PreconditionFailed", undefined, { current: resource?.body ?? null });
  }
}

/**
 * Gives every read with a JSON response an entity tag, in the response and the document, and carries out `If-None-Match`. Must be
 * called before the routes are registered.
 */
export function tagReads(api: Api): void {
  api.decorateReply("resourceState", undefined);
  api.decorateReply("representation", undefined);
  api.addHook("onRoute", (route) => {
    const { schema } = route;
    const responses = schema?.response as Record<number, DocumentedResponse> | undefined;
    if (!schema || !responses) return;
    if (route.method === "GET" && isJson(responses[200])) {
      const headers = (schema.headers as z.ZodObject | undefined) ?? z.looseObject({});
      route.schema = {
        ...schema,
        headers: headers.extend({ "if-none-match": IF_NONE_MATCH }),
        response: { ...responses, 304: NOT_MODIFIED },
      };
    } else if (responses[412] !== undefined) {
      route.schema = { ...schema, response: withHeaders(responses, 412, ENTITY_TAG_HEADERS) };
    }
  });
  api.addHook("preSerialization", hashBody);
  api.addHook("onSend", sendTag);
}

const NOT_MODIFIED = z.undefined().meta({ description: "The client has it already." });

/** Whether it is JSON, also where a client can ask for a table instead. A stream of measurements is no state of anything. */
function isJson(response: DocumentedResponse | undefined): response is DocumentedResponse {
  const types = Object.keys(response?.content ?? {});
  return types.includes("application/json") && !types.includes("application/x-ndjson");
}

function isRead({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}

/** Hook: hashes the body of a response that gets an entity tag. */
const hashBody: preSerializationHookHandler = (request, reply, body, done) => {
  const isTagged = isRead(request) ? isJson(responseOf(request)) : reply.resourceState !== undefined;
  if (isTagged && reply.statusCode < 300) reply.representation = representationOf(body);
  done(null, body);
};

/** Hook: adds the entity tag to a response, and leaves out a body that the client has. */
const sendTag: onSendHookHandler = (request, reply, payload, done) => {
  const { representation, resourceState } = reply;
  if (!representation || reply.statusCode >= 300) return done();
  const tag = formatTag(resourceState, representation);
  void reply.header("ETag", tag);
  if (!isRead(request) || !hasTag(request.headers["if-none-match"], tag)) return done(null, payload);
  void reply.code(304).removeHeader("Content-Type");
  // That of HEAD is left out later.
  done(null, request.method === "HEAD" ? payload : null);
};

function responseOf({ routeOptions }: FastifyRequest): DocumentedResponse | undefined {
  return (routeOptions.schema?.response as Record<number, DocumentedResponse> | undefined)?.[200];
}

function hasTag(sent: string | undefined, tag: string): boolean {
  if (sent === undefined) return false;
  const opaque = TAG.exec(tag)?.[1];
  return sent.split(",").some((each) => each.trim() === "*" || TAG.exec(each.trim())?.[1] === opaque);
}
