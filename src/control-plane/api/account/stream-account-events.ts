import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { onAbort } from "../../../lib/abort.ts";
import { accountEventSchema, accountStreamNoteSchema } from "../../../protocol/assets/account-event.ts";
import { selectorSchema } from "../../../protocol/fleets/selector.ts";
import { integerString } from "../../../protocol/values/scalars.ts";
import { type EventFilter, type EventSink, formatLine } from "../../events/account-feed.ts";
import { accountOf, principalOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, messages } from "../docs/responses.ts";
import { streamHeaders } from "../event-stream.ts";
import { lastEventIdHeaders, resumedAfter } from "../resume-stream.ts";
import { STALL_TIMEOUT_MS } from "../stream-limiter.ts";
import { streamSignal } from "../stream-signal.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";

/** A stream ends when this much was sent that its client has not read and more follows. Its client goes on with `after`. */
const MAX_UNREAD_BYTES = 256 * 1024;

const query = z.strictObject({
  after: integerString(0, Number.MAX_SAFE_INTEGER).optional().meta({
    description: "`id` of the last event received; without it the stream begins now.",
    // As in the events: what a program takes from one fits here.
    type: "string",
    pattern: "^[0-9]{1,16}$",
    minimum: undefined,
    maximum: undefined,
  }),
  types: z
    .string()
    .min(1)
    .max(512)
    .superRefine((text, context) => {
      const unknown = text.split(",").find((each) => !isTypeOrGroup(each));
      if (unknown === undefined) return;
      const message = `"${unknown}" is no type of events; there are ${[...GROUPS, ...TYPES].join(", ")}`;
      context.addIssue({ code: "custom", message });
    })
    .optional()
    .meta({
      description: "Only events of these types, separated by commas. `deployment.*` stands for all that begin so.",
      examples: ["deployment.ended,device.*"],
    }),
  app: z.string().min(1).max(64).optional().meta({ description: "Only events of deployments of this app." }),
  selector: selectorSchema.optional().meta({
    description: "Only events of assets that match it when the event is sent, and `asset.removed` of every asset.",
  }),
});

const TYPES: ReadonlySet<string> = new Set(accountEventSchema.options.map(({ shape }) => shape.type.value));
const GROUPS: ReadonlySet<string> = new Set([...TYPES].map(groupOf));

function groupOf(type: string): string {
  return `${type.slice(0, type.indexOf("."))}.*`;
}

function isTypeOrGroup(text: string): boolean {
  return TYPES.has(text) || GROUPS.has(text);
}

/** `undefined` where all events are wanted. */
function filterOf(
  { store }: ApiBase,
  accountId: string,
  { types, app, selector }: z.output<typeof query>,
): EventFilter | undefined {
  if (types === undefined && app === undefined && selector === undefined) return undefined;
  const wanted = types && new Set(types.split(","));
  const terms = selector === undefined ? undefined : termsOfSelector(selector);
  return {
    wants: (event) => {
      if (wanted && !wanted.has(event.type) && !wanted.has(groupOf(event.type))) return false;
      if (terms && !("asset_id" in event)) return false;
      return app === undefined || ("app" in event && event.app === app);
    },
    ...(terms && { select: (uuids) => store.assets.findMatching(accountId, uuids, terms) }),
  };
}

const lineSchema = z.union([accountEventSchema, accountStreamNoteSchema]);
const EXAMPLES = [
  { type: "hello", id: "4710" },
  {
    id: "4711",
    type: "device.disconnected",
    timestamp: 1_795_178_868,
    asset_id: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
  },
];

/** `GET /v1/events`: what happens in the account, for as long as the client reads. */
export function streamAccountEvents(api: Api, context: ApiContext<"accounts" | "streams">): void {
  const { feeds, limiter } = context.streams;
  api.get(
    "/v1/events",
    {
      exposeHeadRoute: false,
      schema: {
        operationId: "streamEvents",
        summary: "Events",
        description:
          "What happens in the account from now on, or since the event with the id `after`: each event once, in the order " +
          "of the ids. Events are kept for 24 hours, and at most 100,000 of them.",
        tags: ["Assets"],
        querystring: query,
        headers: lastEventIdHeaders(Number.MAX_SAFE_INTEGER),
        response: {
          200: {
            description:
              "Each event or note is a line of `id:` and one of `data:`. The empty line comes after an `id:` alone where a filter has " +
              "left out events. " +
              "A client that does not read is disconnected, and goes on with `after` or `Last-Event-ID`.",
            content: { "text/event-stream": messages(lineSchema, EXAMPLES) },
          },
          ...errors(),
        },
      },
    },
    async (request, reply) => {
      const accountId = accountOf(request);
      const { note, after } = await feeds.start(accountId, resumedAfter(request, request.query.after));
      limiter.acquireForAccount(request, reply);
      const signal = streamSignal(request, reply, context);
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, { ...reply.getHeaders(), ...streamHeaders() } as Record<string, string>);
      raw.flushHeaders();
      if (note) raw.write(formatLine(note));
      const filter = filterOf(context, accountId, request.query);
      const opened = feeds.open(accountId, after, sinkOf(context, request, reply), filter);
      const end = (): void => {
        opened[Symbol.dispose]();
        raw.end();
      };
      const stopping = onAbort(context.stopping, end);
      // Aborts when the client is gone, too.
      onAbort(signal, () => {
        stopping[Symbol.dispose]();
        end();
      });
    },
  );
}

function sinkOf(context: ApiBase, request: FastifyRequest, { raw }: FastifyReply): EventSink {
  const cut = (): void => {
    if (raw.destroyed) return;
    const { id, accountId } = principalOf(request);
    context.observer?.bounded("event_stream_not_read");
    context.logger.warn(
      { request_id: request.id, principal: id, account_id: accountId, unread_bytes: raw.writableLength },
      "a client does not read the events of its account; its stream is cut",
    );
    raw.destroy();
  };
  return {
    send(bytes) {
      if (raw.writableLength <= MAX_UNREAD_BYTES) raw.write(bytes);
      else cut();
    },
    drained() {
      if (raw.destroyed || raw.writableEnded) return Promise.resolve(false);
      if (!raw.writableNeedDrain) return Promise.resolve(true);
      return new Promise((resolve) => {
        const stalled = context.clock.timer(STALL_TIMEOUT_MS, cut);
        const settle = (): void => {
          stalled[Symbol.dispose]();
          raw.off("drain", settle).off("close", settle);
          resolve(!raw.destroyed && !raw.writableEnded);
        };
        raw.once("drain", settle).once("close", settle);
      });
    },
  };
}
