import type { FastifyRequest } from "fastify";
import { splitDeployRequest, updateRequestSchema } from "../../../protocol/apps/deploy-request.ts";
import { MAX_APP_REQUEST_BYTES } from "../../../protocol/limits.ts";
import type { Api } from "../context.ts";
import { appParams } from "./app-resource.ts";
import {
  type CommandContext,
  commandSchema,
  streamErrorHandler,
  STREAM_DESCRIPTION,
  streamCommand,
} from "./command-stream.ts";
import { deployQuerySchema, limitOtherFields, requireBody, toDeployOptions } from "./request-options.ts";

/** Accepts a body that repeats the app's name, such as the file the app was deployed from. */
async function dropUnchangedName({ body, params }: FastifyRequest): Promise<void> {
  if (typeof body !== "object" || body === null || !("name" in body)) return;
  if (body.name === (params as { name: string }).name) delete body.name;
}

/** `PATCH /v1/assets/{asset_id}/edge/apps/{name}`: updates an app and streams the events. */
export function updateApp(api: Api, context: CommandContext): void {
  api.patch(
    "/v1/assets/:asset_id/edge/apps/:name",
    {
      schema: {
        ...commandSchema(),
        operationId: "updateApp",
        summary: "Update App",
        description:
          "Changes an app of the asset's device. Omitted fields keep their values; `ports`, `volumes` and " +
          "`environments` are replaced as a whole, an empty list clears, and `null` removes a field that is absent by " +
          "default. The name cannot change. When the new version fails, the previous one is restored and the update " +
          `ends in \`Fail\`. ${STREAM_DESCRIPTION}`,
        params: appParams,
        querystring: deployQuerySchema,
        body: updateRequestSchema,
      },
      bodyLimit: MAX_APP_REQUEST_BYTES,
      errorHandler: streamErrorHandler(context),
      preValidation: [requireBody, limitOtherFields, dropUnchangedName],
    },
    async (request, reply) => {
      const { wait_for_device_s: waitForDeviceS, ...body } = request.body;
      const { spec, options: given } = splitDeployRequest(body);
      const options = toDeployOptions(given, request.query.dry_run);
      return streamCommand(context, request, reply, {
        command: { action: "update", spec },
        app: request.params.name,
        options,
        waitForDeviceS,
      });
    },
  );
}
