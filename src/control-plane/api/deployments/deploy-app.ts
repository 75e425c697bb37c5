import type { FastifyReply, FastifyRequest } from "fastify";
import { appSpecSchema, parseAppSpec } from "../../../protocol/app-spec.ts";
import { EdgeError, errorEntry } from "../../../protocol/errors.ts";
import { assetParams } from "../assets/asset-params.ts";
import { findAsset } from "../assets/find-asset.ts";
import type { Api, ApiContext } from "../context.ts";
import { eventStream, streamErrors } from "../docs/stream.ts";
import { reportError, toErrorBody } from "../errors.ts";
import { sendEvents, sendFailure } from "../event-stream.ts";
import { streamSignal } from "../stream-signal.ts";
import { validateBy } from "../validate.ts";
import { readIdempotency } from "./idempotency.ts";

/**
 * `POST /v1/assets/{asset_id}/edge/apps`: deploys an app and streams how it goes. Once the key is accepted every answer
 * is an event stream, also the refusals. A client that leaves does not stop the deployment.
 */
export function deployApp(api: Api, context: ApiContext): void {
  const { store, clock, logger, deployments } = context;
  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const shown = reportError(error, request, logger);
    if (request.apiKey) sendFailure(reply, shown, clock.now());
    else void reply.code(errorEntry(shown.code).http).send(toErrorBody(shown));
  };
  api.post(
    "/v1/assets/:asset_id/edge/apps",
    {
      schema: {
        operationId: "deployApp",
        summary: "Deploy App",
        description:
          "Deploys an app to the asset's device. The answer is a stream of events: `Running` any number of times, then " +
          "`Success` or `Fail`. A request that does not become a deployment is answered with one `Fail` event whose " +
          "`deployment_id` is empty. With the header `Idempotency-Key` a repeated request joins the first one's stream.",
        tags: ["Deployments"],
        params: assetParams,
        body: appSpecSchema,
        response: {
          200: eventStream("The deployment's events."),
          ...streamErrors(
            "AssetNotFound",
            "InvalidJson",
            "PayloadTooLarge",
            "UnsupportedMediaType",
            "ErrorNoName",
            "ErrorNoImage",
            "InvalidRequest",
            "IdempotencyKeyReused",
          ),
        },
      },
      errorHandler: refuse,
      preValidation: async (request) => {
        if (request.body === undefined) throw new EdgeError("InvalidJson");
      },
      validatorCompiler: ({ httpPart }) => (httpPart === "body" ? validateSpec : validateBy(assetParams)),
    },
    async (request, reply) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const spec = request.body;
      const idempotency = readIdempotency(request.headers["idempotency-key"], asset.uuid, spec);
      const id = await deployments.request(asset, spec, idempotency);
      void reply.header("Deployment-Id", id);
      return sendEvents(reply, deployments.events(id, 0, streamSignal(request, reply, context)));
    },
  );
}

/** As the schema does, with error codes of its own for a missing name or image. */
function validateSpec(data: unknown): ReturnType<ReturnType<typeof validateBy>> {
  const parsed = parseAppSpec(data);
  return parsed.ok ? { value: parsed.spec } : { error: parsed.error };
}
